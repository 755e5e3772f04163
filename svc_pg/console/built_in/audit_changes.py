"""Routes of single changes: the difference that an entry tells, and the SQL that takes a change back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from anyio.to_thread import run_sync

from svc_pg.audit.log import numbers
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.diff import FieldDiff, diff
from svc_pg.audit.past.revert import arevert
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_lookup import (
    OF_ENTRY,
    OF_TRANSACTION,
    entry_number,
    unknown_entry,
    unknown_transaction,
    visible_entry,
)
from svc_pg.console.http.body import pointer
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import PAGE_BYTES, FilterParameter, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, explained
from svc_pg.database.storable_texts import check_texts
from svc_pg.errors import ConflictError, NotFoundError, QueryError, Refusal, RevertRefusedError
from svc_pg.formats.doc import Doc

_MOST_LEFT: Final = 100
_MOST_REFUSALS: Final = 100


@dataclass(frozen=True, slots=True)
class EntryDiff:
    """The fields that an entry changed, and a JSON Patch."""

    fields: Annotated[Sequence[FieldDiff], Doc("The fields that it changed.")]
    patch: Annotated[
        Snapshot,
        Doc(
            "The JSON Patch (RFC 6902) from the snapshot before to the one after; it changes nothing of redacted"
            " fields.",
            [{"op": "replace", "path": "/email", "value": "ann@corp.example"}],
        ),
    ]


@dataclass(frozen=True, slots=True)
class Revert:
    """The SQL that takes a change back."""

    sql: Annotated[
        str,
        Doc("One statement, which compares the rows with the log before and after.", "do $svc$ begin ... end $svc$"),
    ]


@dataclass(frozen=True, slots=True)
class _Asked:
    leave: Sequence[str] = ()


def _leaving(asked: _Asked, *fields: str) -> _Asked:
    check_texts(*fields)
    return replace(asked, leave=fields)


_LEAVE: Final = {
    "leave": FilterParameter(
        _leaving,
        "a field that is neither changed nor compared, such as one that a trigger sets",
        text("updated_at"),
        _MOST_LEFT,
    )
}
_REFUSED: Final = {"cannot_be_reverted": 409, "too_large": 422, "not_supported": 422}


@dataclass(frozen=True, slots=True)
class ChangeRoutes:
    """The handlers, and the log that they read."""

    log: ConsoleLog

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/entries/:id/diff",
                operation_id="entries.diff",
                path_parameters=OF_ENTRY,
                handler=self._diff,
                is_compressed=True,
                serves_tenants=True,
                summary="The fields that one entry changed, and a JSON Patch",
                response=EntryDiff,
                errors={"unknown_entry": 404, "not_comparable": 422},
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id/revert",
                operation_id="entries.revert",
                path_parameters=OF_ENTRY,
                handler=self._revert_entry,
                is_compressed=True,
                summary="The SQL that takes one entry back, for somebody to read and run; nothing is executed",
                query=documented(_LEAVE),
                response=Revert,
                errors={"unknown_entry": 404, **_REFUSED},
            ),
            ProductEndpoint(
                method="GET",
                path="/transactions/:id/revert",
                operation_id="transactions.revert",
                path_parameters=OF_TRANSACTION,
                handler=self._revert_transaction,
                is_compressed=True,
                summary="The SQL that takes one transaction back, for somebody to read and run; nothing is executed",
                query=documented(_LEAVE),
                response=Revert,
                errors={"unknown_transaction": 404, **_REFUSED},
            ),
        ]

    async def _diff(self, request: AuthenticatedRequest) -> ConsoleResponse:
        entry_id = entry_number(request.params["id"])
        found = await visible_entry(self.log, request.session, str(entry_id))
        try:
            told = await run_sync(diff, found)  # which may take a second of a snapshot of megabytes
            return ConsoleResponse(200, EntryDiff(told.fields, told.patch))
        except QueryError as error:
            raise Problem(422, "not_comparable", error.message) from error

    async def _revert_entry(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return await self._reverted(request, unknown_entry(), entry=request.params["id"])

    async def _revert_transaction(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return await self._reverted(request, unknown_transaction(), transaction=request.params["id"])

    async def _reverted(
        self,
        request: AuthenticatedRequest,
        unknown: Problem,
        *,
        entry: str | None = None,
        transaction: str | None = None,
    ) -> ConsoleResponse:
        if numbers.bigint(request.params["id"]) is None:
            raise unknown
        leave = filtered(_Asked(), request.query, _LEAVE).leave
        try:
            async with self.log.past(request.session) as conn:
                text = await arevert(conn, entry=entry, transaction=transaction, leave=leave, max_bytes=PAGE_BYTES)
        except NotFoundError as error:
            raise unknown from error
        except RevertRefusedError as error:
            raise _refused(error.refusals) from error
        except ConflictError as error:
            raise Problem(409, "cannot_be_reverted", explained(error), errors=[]) from error
        except QueryError as error:
            raise Problem(422, "too_large", explained(error)) from error
        return ConsoleResponse(200, Revert(text))


def _refused(refusals: Sequence[Refusal]) -> Problem:
    """Each reason, with a pointer into the tables, their records and the fields of these."""
    errors = [
        {"pointer": pointer(_steps(each)), "detail": each.reason, "entryId": each.entry}
        for each in refusals[:_MOST_REFUSALS]
    ]
    more = "" if len(refusals) <= _MOST_REFUSALS else f" for {len(refusals)} reasons"
    return Problem(409, "cannot_be_reverted", f"This cannot be taken back{more}; see errors.", errors=errors)


def _steps(refusal: Refusal) -> Sequence[str]:
    return [step for step in (refusal.table, refusal.record, refusal.field) if step is not None]
