"""Send an event inside the caller's transaction: the message and the change commit together or not at all."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from svc_pg.errors import PayloadError, translating

if TYPE_CHECKING:
    from psycopg import AsyncConnection

Payload = Mapping[str, Any] | list[Any] | str

_SEND: Final = "select svc.send(%s, %s::json, %s, %s, %s::interval)"
_AT_ONCE: Final = timedelta(0)


class DbApiConnection(Protocol):
    """A DB-API connection whose driver writes parameters as ``%s``: psycopg's, SQLAlchemy's raw one, Django's."""

    def cursor(self) -> Any:
        """Open a cursor."""


def send(
    conn: DbApiConnection,
    event: str,
    payload: Payload,
    *,
    idempotency_key: str | None = None,
    tenant: str | None = None,
    delay: timedelta = _AT_ONCE,
) -> UUID:
    """Send ``event`` to every endpoint that wants it, once the caller's transaction commits; return the message's id.

    ``payload`` is anything that JSON can hold, or, as ``str``, a JSON text that is stored byte for byte. Another send
    with the same ``idempotency_key`` and tenant stores nothing and returns the first message's id. Never commits.

    Raises UnknownEventError, PayloadError and NotInstalledError; as after any error, the transaction is then aborted.
    """
    with translating(), closing(conn.cursor()) as cursor:
        cursor.execute(_SEND, (event, _text(payload), idempotency_key, tenant, delay))
        return _message_id(cursor.fetchone())


async def asend(
    conn: "AsyncConnection[Any]",
    event: str,
    payload: Payload,
    *,
    idempotency_key: str | None = None,
    tenant: str | None = None,
    delay: timedelta = _AT_ONCE,
) -> UUID:
    """As ``send``, for an async connection of psycopg."""
    with translating():
        async with conn.cursor() as cursor:
            await cursor.execute(_SEND, (event, _text(payload), idempotency_key, tenant, delay))
            return _message_id(await cursor.fetchone())


def _text(payload: Payload) -> str:
    if isinstance(payload, str):
        return payload
    try:
        return json.dumps(payload, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(
            f"the payload is not JSON: {error}", hint="Send texts, numbers, booleans, null, lists and maps of them."
        ) from error


def _message_id(row: Any) -> UUID:
    value = next(iter(row.values())) if isinstance(row, Mapping) else row[0]
    return value if isinstance(value, UUID) else UUID(value)
