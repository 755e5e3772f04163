"""The actor on a connection of asyncpg: settings of its transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from svc_pg.audit.context import Actor, acting_as, current_actor, parameters, within
from svc_pg.database.sqlstates import sqlstate
from svc_pg.errors import TransactionError

_SET: Final = """
select set_config('svc.actor_id', $1, true), set_config('svc.tenant_id', $2, true), set_config('svc.context', $3, true)
"""
_GET: Final = """
select current_setting('svc.actor_id', true), current_setting('svc.tenant_id', true),
       current_setting('svc.context', true)
"""
_FAILED: Final = "25P02"


@asynccontextmanager
async def ablock(conn: Any, who: Actor) -> AsyncIterator[None]:
    """Make ``who`` the transaction's actor until the block ends."""
    if not conn.is_in_transaction():
        raise TransactionError(
            "an actor needs a transaction, and this connection is outside one",
            hint="Write: async with conn.transaction(), audit.aactor(conn, ...):",
        )
    before = await conn.fetchrow(_GET)
    try:
        with acting_as(within(who, before[2])):
            given = parameters(current_actor())
            await conn.fetchrow(_SET, given["actor_id"], given["tenant_id"], given["context"])
            yield
    finally:
        if not conn.is_closed() and conn.is_in_transaction():
            await _restore(conn, before)


async def _restore(conn: Any, before: Any) -> None:
    try:
        await conn.fetchrow(_SET, *(text or "" for text in before))
    except Exception as error:
        if sqlstate(error)[0] != _FAILED:  # a failed transaction can only be rolled back, and its settings with it
            raise
