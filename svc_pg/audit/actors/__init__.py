"""The actor of a connection's changes in a block."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from svc_pg.audit.context import Actor, Id, actor_named, by_hand
from svc_pg.audit.log.audit_log import log_of
from svc_pg.database.connections import async_connection, sync_connection


@contextmanager
def actor(
    conn: Any, actor: Id | Actor, *, tenant: Id | None = None, context: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Name the actor, by an id or as an ``Actor``, of changes that the connection makes in the block.

    ``conn`` is a connection or cursor of a driver (psycopg, psycopg2, sqlite3, PyMySQL or another of MySQL), a
    connection or session of SQLAlchemy, or Django's. ``context`` is stored as JSON with every entry, for example
    ``{"request_id": "r-81"}``. Leaving the block restores the actor before. The block is an ``acting`` block too, with
    the context of outer ones. Raises as ``Actor`` does.

    On PostgreSQL the context keeps the members that ``svc.context`` has in the transaction, unless the block has its
    own. The actor belongs to the transaction: a commit or rollback inside the block ends it, but a connection
    ``with_audit`` keeps the actor in its next transaction. Raises TransactionError on an autocommit connection outside
    a transaction: the actor would last for one statement only. The other databases need no transaction.
    """
    who = actor_named(actor, tenant, context)
    driver = sync_connection(conn, twin="async with audit.aactor(conn, ...):")
    with by_hand(), log_of(driver).acting(who):
        yield


@asynccontextmanager
async def aactor(
    conn: Any, actor: Id | Actor, *, tenant: Id | None = None, context: Mapping[str, object] | None = None
) -> AsyncIterator[None]:
    """As ``actor``, for an async connection: of psycopg, asyncpg, aiosqlite, asyncmy, aiomysql, or SQLAlchemy's."""
    who = actor_named(actor, tenant, context)
    driver = await async_connection(conn, twin="with audit.actor(conn, ...):")
    with by_hand():
        async with log_of(driver).aacting(who):
            yield
