"""Routes of certificates: of an entry, of a record, of an erasure; and the public keys that verify them."""

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Final

from psycopg import AsyncConnection

from svc_pg.audit.certificates import (
    Certificate,
    acertify,
    acertify_erasure,
    acertify_record,
)
from svc_pg.audit.read.audit_query import query
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_lookup import OF_ENTRY, OF_RECORD, entry_number, unknown_entry
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.errors import EncryptionKeyError, NotFoundError, SvcError
from svc_pg.formats.doc import Doc
from svc_pg.seals.keys import PublicKeys
from svc_pg.settings import Settings

_UNKNOWN: Final = {"unknown_entry": 404, "not_supported": 422}
_Certify = Callable[[AsyncConnection[Any]], Awaitable[Certificate]]


@dataclass(frozen=True, slots=True)
class SealPublicKey:
    """A public key that verifies seals."""

    key_id: Annotated[str, Doc("The id of the key, which its seals name.", "s1")]
    public_key: Annotated[str, Doc("Its 32 bytes in base64 (Ed25519).", "zNtDdGIXyPTQCR1w6C3nRTgrYbqhJpbGmUEwMXTqAHA=")]
    fingerprint: Annotated[
        str,
        Doc(
            "The SHA-256 of these bytes, in hexadecimal.",
            "9c4177e0b2d85a1304fe6c929c4177e0b2d85a1304fe6c929c4177e0b2d85a13",
        ),
    ]

    @classmethod
    def of(cls, key_id: str, key: bytes) -> "SealPublicKey":
        """A key as the API shows it."""
        return cls(key_id, base64.b64encode(key).decode(), sha256(key).hexdigest())


@dataclass(frozen=True, slots=True)
class SealPublicKeys:
    """The public keys that the console knows. Compare them with a copy from elsewhere before you trust them."""

    keys: Annotated[Sequence[SealPublicKey], Doc("The keys; empty if its settings have none.")]


@dataclass(frozen=True, slots=True)
class CertificateRoutes:
    """The handlers, the log that they read, and the settings with the public keys."""

    log: ConsoleLog
    settings: Settings

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/seals/keys",
                operation_id="seals.keys",
                handler=self._keys,
                summary="The public keys of seals that the console knows, with their fingerprints",
                response=SealPublicKeys,
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id/certificate",
                operation_id="entries.certificate",
                path_parameters=OF_ENTRY,
                handler=self._entry,
                required_permission="write",
                is_compressed=True,
                summary="One entry with what proves it, whatever its state, to verify with the public key",
                response=Certificate,
                errors=_UNKNOWN,
            ),
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/certificate",
                operation_id="records.certificate",
                path_parameters=OF_RECORD,
                handler=self._record,
                required_permission="write",
                is_compressed=True,
                summary="The newest entries of one record with what proves them, 20 at most",
                response=Certificate,
                errors={"unknown_record": 404, "unknown_table": 404, "not_supported": 422},
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id/erasure",
                operation_id="entries.erasure",
                path_parameters=OF_ENTRY,
                handler=self._erasure,
                required_permission="write",
                is_compressed=True,
                summary="The entry that tells of an erasure, and what is left of the entries that it erased, proven",
                response=Certificate,
                errors={**_UNKNOWN, "no_erasure": 404},
            ),
        ]

    def _keys(self, _request: AuthenticatedRequest) -> ConsoleResponse:
        try:
            known = PublicKeys.of(self.settings).keys
        except EncryptionKeyError:
            known = {}
        return ConsoleResponse(200, SealPublicKeys([SealPublicKey.of(name, key) for name, key in known.items()]))

    async def _entry(self, request: AuthenticatedRequest) -> ConsoleResponse:
        entry_id = entry_number(request.params["id"])
        return await self._certified(request, lambda conn: acertify(conn, entry_id), unknown_entry())

    async def _record(self, request: AuthenticatedRequest) -> ConsoleResponse:
        table, key = request.params["table"], request.params["id"]
        try:
            query().resource(table).record(key)
        except SvcError as error:
            raise Problem(404, "unknown_table", error.message) from error
        problem = Problem(404, "unknown_record", "The log has no entry of this record.")
        return await self._certified(request, lambda conn: acertify_record(conn, table, key), problem)

    async def _erasure(self, request: AuthenticatedRequest) -> ConsoleResponse:
        entry_id = entry_number(request.params["id"])
        problem = Problem(404, "no_erasure", "The log has no entry with this id that tells of an erasure.")
        return await self._certified(request, lambda conn: acertify_erasure(conn, entry_id), problem)

    async def _certified(self, request: AuthenticatedRequest, certify: _Certify, unknown: Problem) -> ConsoleResponse:
        async with self.log.past(request.session) as conn:
            try:
                found = await certify(conn)
            except NotFoundError as error:
                raise unknown from error
        return ConsoleResponse(200, found)
