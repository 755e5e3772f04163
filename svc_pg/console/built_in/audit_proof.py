"""Routes of the log's integrity: seals, the proof of an entry, and legal holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from svc_pg.audit.keep.holds import Hold, HoldFilter, Holds, holds
from svc_pg.audit.proofs import aprove
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_lookup import OF_ENTRY, entry_number, unknown_entry
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, FilterParameter, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, explained
from svc_pg.database.pagination import Page
from svc_pg.database.query import RawJson, afetch
from svc_pg.errors import ConflictError, NotFoundError
from svc_pg.formats.doc import Doc
from svc_pg.seals.database.stored_seals import LAST, all_seals, sealing_of
from svc_pg.seals.verification.seal import Seal


@dataclass(frozen=True, slots=True)
class AuditSeal:
    """A seal of the audit log."""

    number: Annotated[int, Doc("The number of the seal.", 9)]
    entries: Annotated[int, Doc("The number of entries that it seals.", 1500)]
    sealed_at: Annotated[datetime, Doc("The time at which it was made.")]
    key_id: Annotated[str, Doc("The id of the key that signed it.", "2026-01")]
    text: Annotated[
        str,
        Doc(
            "The text that is signed, for a copy outside; it has no data of the entries.",
            '{"entries":1500,"kind":"svc-pg audit seal","number":9}',
        ),
    ]
    signature: Annotated[str, Doc("The signature (Ed25519) of the text.", "u1vX8w")]

    @classmethod
    def of(cls, seal: Seal) -> "AuditSeal":
        """A seal as the API shows it."""
        return cls(seal.number, seal.entries, seal.sealed_at, seal.key_id, **seal.copy)


@dataclass(frozen=True, slots=True)
class EntrySeal:
    """The seal of an entry."""

    seal: Annotated[AuditSeal | None, Doc("The seal; null if the entry has none yet.")]
    has_seals: Annotated[bool, Doc("False if nobody seals this log.")]


_HOLDS: Final[dict[str, FilterParameter[Holds]]] = {**declared(HoldFilter), **PAGE}
_UNKNOWN: Final = {"unknown_entry": 404, "not_supported": 422}


@dataclass(frozen=True, slots=True)
class ProofRoutes:
    """The handlers, and the log that they read."""

    log: ConsoleLog

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/seals",
                operation_id="seals.list",
                handler=self._seals,
                is_compressed=True,
                summary="The seals of the log, newest first",
                query=documented(PAGE),
                response=Page[AuditSeal],
                errors={"not_supported": 422},
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id/seal",
                operation_id="entries.seal",
                path_parameters=OF_ENTRY,
                handler=self._seal,
                summary="The seal of one entry",
                response=EntrySeal,
                errors=_UNKNOWN,
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id/proof",
                operation_id="entries.proof",
                path_parameters=OF_ENTRY,
                handler=self._proof,
                required_permission="write",
                summary="The proof that one entry was in the log when its seal was made, to check with the public key",
                response=dict[str, Any],
                errors={**_UNKNOWN, "not_sealed": 409},
            ),
            ProductEndpoint(
                method="GET",
                path="/holds",
                operation_id="holds.list",
                handler=self._holds,
                is_compressed=True,
                summary="Legal holds, newest first",
                query=documented(_HOLDS),
                response=Page[Hold],
                errors={"not_supported": 422},
            ),
        ]

    async def _seals(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(all_seals(), request.query, PAGE)
        async with self.log.past(request.session) as conn:
            page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        shown = [AuditSeal.of(seal) for seal in page]
        return ConsoleResponse(200, Page(shown, page.next_cursor, page.prev_cursor))

    async def _seal(self, request: AuthenticatedRequest) -> ConsoleResponse:
        entry_id = entry_number(request.params["id"])
        async with self.log.past(request.session) as conn:
            found = await afetch(conn, sealing_of(entry_id))
            has_seals = bool(found or await afetch(conn, LAST))
        if not found and await self.log.entry(str(entry_id)) is None:
            raise unknown_entry()
        return ConsoleResponse(200, EntrySeal(AuditSeal.of(found[0]) if found else None, has_seals))

    async def _proof(self, request: AuthenticatedRequest) -> ConsoleResponse:
        entry_id = entry_number(request.params["id"])
        try:
            async with self.log.past(request.session) as conn:
                proof = await aprove(conn, entry_id)
        except NotFoundError as error:
            raise unknown_entry() from error
        except ConflictError as error:
            raise Problem(409, "not_sealed", explained(error)) from error
        return ConsoleResponse(200, RawJson(proof.text))

    async def _holds(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(holds(), request.query, _HOLDS)
        async with self.log.past(request.session) as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))
