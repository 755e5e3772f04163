"""Seal stored secrets again with the newest encryption key, so that older ones can be retired."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.webhooks.secrets import HEADERS_COLUMN, SECRET_COLUMN, SIGNING_KEY_COLUMN, TLS_COLUMN, KeyRing

_BATCH: Final = 100
_SEALED: Final = statement("queries/webhooks/sealed_endpoints.sql")
_COLUMNS: Final = (
    SECRET_COLUMN,
    SECRET_COLUMN,
    HEADERS_COLUMN,
    TLS_COLUMN,
    SIGNING_KEY_COLUMN,
    SIGNING_KEY_COLUMN,
)
_STORE: Final = """
update svc.webhook_endpoints
   set secret = %s, previous_secret = %s, headers = %s, tls = %s, signing_key = %s, previous_signing_key = %s,
       previous_secret_expires_at = case when %s then previous_secret_expires_at end, version = version + 1
 where id = %s
"""


@dataclass(frozen=True, slots=True)
class _Sealed:
    id: UUID
    sealed: list[bytes | None]


def reencrypt(conn: Connection[Any], keys: KeyRing) -> int:
    """Seal with the first key all secrets sealed with another one; return the number of endpoints.

    Every batch is a transaction of its own, so it can be stopped and run again while workers go on. ``conn`` must
    not be in a transaction. Raises EncryptionKeyError, which names the endpoint, if no key opens a value.
    """
    count, after = 0, "00000000-0000-0000-0000-000000000000"
    while True:
        with conn.transaction():
            parameters = {"after": after, "mark": keys.mark, "batch": _BATCH}
            batch = fetch(conn, Query(_SEALED, parameters, _Sealed))
            for endpoint in batch:
                _store(conn, keys, endpoint)
        if not batch:
            return count
        count += len(batch)
        after = str(batch[-1].id)


def _store(conn: Connection[Any], keys: KeyRing, endpoint: _Sealed) -> None:
    owner = str(endpoint.id)
    anew = [
        None if sealed is None else keys.seal(keys.open(sealed, owner=owner, column=column), owner=owner, column=column)
        for sealed, column in zip(endpoint.sealed, _COLUMNS, strict=True)
    ]
    is_overlapping = anew[1] is not None
    conn.execute(_STORE, (*anew, is_overlapping, endpoint.id))
