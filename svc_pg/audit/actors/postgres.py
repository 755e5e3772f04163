"""The actor on PostgreSQL: settings of the transaction."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, Final

from psycopg.pq import TransactionStatus

from svc_pg.audit.actors import asyncpg
from svc_pg.audit.context import Actor, acting_as, current_actor, parameters, within
from svc_pg.database.connections import is_asyncpg
from svc_pg.database.dbapi import values_of
from svc_pg.errors import ConfigError, TransactionError

SET_ACTOR: Final = """
select set_config('svc.actor_id', %(actor_id)s, true), set_config('svc.tenant_id', %(tenant_id)s, true),
       set_config('svc.context', %(context)s, true)
"""
_GET_ACTOR: Final = """
select current_setting('svc.actor_id', true) as actor_id, current_setting('svc.tenant_id', true) as tenant_id,
       current_setting('svc.context', true) as context
"""
_NAMES: Final = ("actor_id", "tenant_id", "context")


@contextmanager
def block(conn: Any, who: Actor) -> Iterator[None]:
    """Make ``who`` the transaction's actor until the block ends, on a connection of psycopg or psycopg2."""
    _require_transaction(conn)
    with closing(conn.cursor()) as cursor:
        cursor.execute(_GET_ACTOR)
        before = _texts(cursor.fetchone())
        try:
            with acting_as(within(who, before["context"])):
                cursor.execute(SET_ACTOR, parameters(current_actor()))
                yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:
                cursor.execute(SET_ACTOR, before)


@asynccontextmanager
async def ablock(conn: Any, who: Actor) -> AsyncIterator[None]:
    """As ``block``, for an async connection of psycopg or asyncpg."""
    if is_asyncpg(conn):
        async with asyncpg.ablock(conn, who):
            yield
        return
    _require_transaction(conn)
    async with conn.cursor() as cursor:
        await cursor.execute(_GET_ACTOR)
        before = _texts(await cursor.fetchone())
        try:
            with acting_as(within(who, before["context"])):
                await cursor.execute(SET_ACTOR, parameters(current_actor()))
                yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:
                await cursor.execute(SET_ACTOR, before)


def _texts(row: Any) -> dict[str, Any]:
    """The settings of a row."""
    return dict(zip(_NAMES, values_of(row), strict=True))


def _require_transaction(conn: Any) -> None:
    if not hasattr(conn, "info"):
        raise ConfigError(
            f"{type(conn).__module__} does not tell the state of its transactions",
            hint="Use psycopg or asyncpg, or run: select set_config('svc.actor_id', ..., true)",
        )
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        raise TransactionError(
            "an actor needs a transaction, and this autocommit connection is outside one",
            hint="Write: with conn.transaction(), audit.actor(conn, ...):",
        )
