"""The actor on PostgreSQL: settings of the transaction."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from svc_pg.audit.context import Actor, acting_as, parameters
from svc_pg.errors import TransactionError

SET_ACTOR: Final = """
select set_config('svc.actor_id', %(actor_id)s, true), set_config('svc.tenant_id', %(tenant_id)s, true),
       set_config('svc.context', %(context)s, true)
"""
_GET_ACTOR: Final = """
select current_setting('svc.actor_id', true) as actor_id, current_setting('svc.tenant_id', true) as tenant_id,
       current_setting('svc.context', true) as context
"""


@contextmanager
def block(conn: Connection[Any], who: Actor) -> Iterator[None]:
    """Make it the transaction's actor until the block ends."""
    _require_transaction(conn)
    cursor = conn.cursor(row_factory=dict_row)
    before = cursor.execute(_GET_ACTOR).fetchone()
    try:
        with acting_as(who):
            cursor.execute(SET_ACTOR, parameters(who))
            yield
    finally:
        if conn.info.transaction_status == TransactionStatus.INTRANS:
            cursor.execute(SET_ACTOR, before)


@asynccontextmanager
async def ablock(conn: AsyncConnection[Any], who: Actor) -> AsyncIterator[None]:
    """As ``block``, for an async connection."""
    _require_transaction(conn)
    cursor = conn.cursor(row_factory=dict_row)
    before = await (await cursor.execute(_GET_ACTOR)).fetchone()
    try:
        with acting_as(who):
            await cursor.execute(SET_ACTOR, parameters(who))
            yield
    finally:
        if conn.info.transaction_status == TransactionStatus.INTRANS:
            await cursor.execute(SET_ACTOR, before)


def _require_transaction(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        raise TransactionError(
            "an actor needs a transaction, and this autocommit connection is outside one",
            hint="Write: with conn.transaction(), audit.actor(conn, ...):",
        )
