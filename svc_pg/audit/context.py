"""Who acts: put the actor, the tenant and a context into the transaction, where the triggers read them."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from svc_pg.errors import TransactionError

_READ: Final = """
select current_setting('svc.actor_id', true), current_setting('svc.tenant_id', true),
       current_setting('svc.context', true)
"""
_SET: Final = """
select set_config('svc.actor_id', %s, true), set_config('svc.tenant_id', %s, true), set_config('svc.context', %s, true)
"""


@contextmanager
def actor(
    conn: Connection[Any], actor_id: str, *, tenant: str | None = None, context: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Record what this transaction changes inside the block as done by ``actor_id``, for ``tenant``, with ``context``.

    ``context`` is stored as JSON with every entry, such as ``{"request_id": "r-81"}``. The actor belongs to the
    transaction: a commit or rollback inside the block ends it, and leaving the block restores the one before. Raises
    TransactionError on an autocommit connection outside a transaction, where it would last for one statement only.
    """
    _require_transaction(conn)
    cursor = conn.cursor(row_factory=tuple_row)
    before = cursor.execute(_READ).fetchone()
    cursor.execute(_SET, _values(actor_id, tenant, context))
    try:
        yield
    finally:
        if conn.info.transaction_status == TransactionStatus.INTRANS:
            cursor.execute(_SET, before)


@asynccontextmanager
async def aactor(
    conn: AsyncConnection[Any], actor_id: str, *, tenant: str | None = None, context: Mapping[str, object] | None = None
) -> AsyncIterator[None]:
    """As ``actor``, for an async connection."""
    _require_transaction(conn)
    cursor = conn.cursor(row_factory=tuple_row)
    before = await (await cursor.execute(_READ)).fetchone()
    await cursor.execute(_SET, _values(actor_id, tenant, context))
    try:
        yield
    finally:
        if conn.info.transaction_status == TransactionStatus.INTRANS:
            await cursor.execute(_SET, before)


def _values(actor_id: str, tenant: str | None, context: Mapping[str, object] | None) -> tuple[str, str, str]:
    if not actor_id:
        raise ValueError("an actor needs a name")
    return actor_id, tenant or "", "" if context is None else json.dumps(context)


def _require_transaction(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        raise TransactionError(
            "an actor needs a transaction, and this autocommit connection is outside one",
            hint="Write: with conn.transaction(), audit.actor(conn, ...):",
        )
