"""Perform the effects of a call on PostgreSQL: in the caller's transaction, or each query in one of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, LiteralString

from psycopg import AsyncConnection, Connection
from psycopg.abc import Buffer
from psycopg.pq import TransactionStatus

from svc_pg.database import effects
from svc_pg.database.by_indexes import aby_indexes, aby_ranges, aof_whole, by_indexes, by_ranges, of_whole
from svc_pg.database.connections import apsycopg_connection, is_asyncpg, numbered, psycopg_connection
from svc_pg.database.dbapi import rows, values_of
from svc_pg.database.effects import Effects, Remembered, Result, Statement
from svc_pg.database.memory import memory_of
from svc_pg.database.query import Query, Row, afetch, afetch_within, fetch
from svc_pg.database.sqlstates import translating
from svc_pg.errors import TransactionError

# Holds are decided under locks, and only the snapshot of a statement that begins after the wait shows them
_ISOLATION: Final = "set transaction isolation level read committed"


@dataclass(frozen=True, slots=True)
class Apart(Generic[Row]):
    """A query in a transaction of its own; inside the caller's, a part of that. The answer is its rows."""

    query: Query[Row]


@dataclass(frozen=True, slots=True)
class Together(Generic[Result]):
    """Effects in a transaction of their own, after a script that prepares it. The answer is their result."""

    script: str
    effects: Effects[Result]


@dataclass(frozen=True, slots=True)
class Within(Generic[Row]):
    """The first rows of a query, up to ``max_bytes`` together and at least one, and whether these are all."""

    query: Query[Row]
    max_bytes: int


@dataclass(frozen=True, slots=True)
class ByIndexes:
    """A query, a part of one or a COPY whose planner has no choice but indexes: it reads no more than its limit says.

    The answer is that of the effect.
    """

    effect: "Query[Any] | Within[Any] | Copy"


@dataclass(frozen=True, slots=True)
class ByRanges(Generic[Row]):
    """A query whose planner has no choice but BRIN indexes, which have the entries of a stretch of the log.

    The answer is its rows.
    """

    query: Query[Row]


@dataclass(frozen=True, slots=True)
class OfWhole:
    """A query, or a part of one, about all tables of a database: it reads each relation of the catalog once.

    The answer is that of the effect.
    """

    effect: "Query[Any] | Within[Any]"


@dataclass(frozen=True, slots=True)
class Copy:
    """A COPY to the client, each of whose rows goes to ``take``. The answer is their number."""

    text: LiteralString
    params: tuple[object, ...]
    take: Callable[[Buffer], None]


def run(conn: Any, wanted: Effects[Result]) -> Result:
    """Perform the effects in the transaction of a connection. A ``Statement`` may be on any driver's."""
    with translating():
        return effects.run(wanted, partial(_perform, conn))


async def arun(conn: Any, wanted: Effects[Result]) -> Result:
    """As ``run``, on an async connection; only this performs ``Within``."""
    with translating():
        return await effects.arun(wanted, partial(_aperform, conn))


def take(conn: Connection[Any], wanted: Effects[Result]) -> Result:
    """Perform the effects, each query in a transaction of its own, or inside the caller's."""
    with translating():
        return effects.run(wanted, partial(_apart, psycopg_connection(conn)))


async def atake(conn: AsyncConnection[Any], wanted: Effects[Result]) -> Result:
    """As ``take``, on an async connection."""
    with translating():
        return await effects.arun(wanted, partial(_aapart, await apsycopg_connection(conn)))


def check_idle(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    """Raise TransactionError if the connection is inside a transaction."""
    if conn.closed or _is_idle(conn):
        return  # of one that is closed, its driver says so
    raise TransactionError(
        "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
    )


def _perform(conn: Any, effect: Any) -> Any:
    match effect:
        case Query():
            return fetch(conn, effect)
        case Statement(text, params):
            return rows(conn, text, params)
        case Remembered(Statement(text, params)):
            memory = memory_of(conn)
            if (found := memory.get(text)) is None:
                found = memory.keep(text, rows(conn, text, params))
            return found
        case Apart(query):
            return _apart(psycopg_connection(conn), query)
        case Together(script, together):
            with conn.transaction():
                conn.execute(f"{_ISOLATION}; {script}", prepare=False)
                return effects.run(together, partial(_perform, conn))
        case ByIndexes(effect):
            with by_indexes(conn):
                return _perform(conn, effect)
        case ByRanges(query):
            with by_ranges(conn):
                return fetch(conn, query)
        case OfWhole(effect):
            with of_whole(conn):
                return _perform(conn, effect)
        case Copy(text, params, give):
            with conn.cursor() as cursor:
                with cursor.copy(text, params) as found:
                    for row in found:
                        give(row)
                return cursor.rowcount
    raise TypeError(f"PostgreSQL does not perform {effect!r}")


async def _aperform(conn: Any, effect: Any) -> Any:
    match effect:
        case Query():
            return await afetch(conn, effect)
        case Within(query, max_bytes):
            return await afetch_within(conn, query, max_bytes=max_bytes)
        case Statement(text, params):
            return await _arows(conn, text, params)
        case Remembered(Statement(text, params)):
            memory = memory_of(conn)
            if (found := memory.get(text)) is None:
                found = memory.keep(text, await _arows(conn, text, params))
            return found
        case Apart(query):
            return await _aapart(await apsycopg_connection(conn), query)
        case Together(script, together):
            async with conn.transaction():
                await conn.execute(f"{_ISOLATION}; {script}", prepare=False)
                return await effects.arun(together, partial(_aperform, conn))
        case ByIndexes(effect):
            async with aby_indexes(conn):
                return await _aperform(conn, effect)
        case ByRanges(query):
            async with aby_ranges(conn):
                return await afetch(conn, query)
        case OfWhole(effect):
            async with aof_whole(conn):
                return await _aperform(conn, effect)
        case Copy(text, params, give):
            async with conn.cursor() as cursor:
                async with cursor.copy(text, params) as found:
                    async for row in found:
                        give(row)
                return cursor.rowcount
    raise TypeError(f"PostgreSQL does not perform {effect!r}")


def _apart(conn: Connection[Any], query: Query[Row] | ByRanges[Row]) -> list[Row]:
    is_alone = _is_idle(conn)
    with conn.transaction():
        if is_alone:
            conn.execute(_ISOLATION)
        found: list[Row] = _perform(conn, query)
        return found


async def _aapart(conn: AsyncConnection[Any], query: Query[Row] | ByRanges[Row]) -> list[Row]:
    is_alone = _is_idle(conn)
    async with conn.transaction():
        if is_alone:
            await conn.execute(_ISOLATION)
        found: list[Row] = await _aperform(conn, query)
        return found


async def _arows(conn: Any, text: LiteralString, params: tuple[object, ...]) -> list[tuple[Any, ...]]:
    if is_asyncpg(conn):
        return [values_of(row) for row in await conn.fetch(numbered(text), *params)]
    async with conn.cursor() as cursor:
        return [values_of(row) for row in await (await cursor.execute(text, params)).fetchall()]


def _is_idle(conn: Connection[Any] | AsyncConnection[Any]) -> bool:
    return conn.info.transaction_status == TransactionStatus.IDLE
