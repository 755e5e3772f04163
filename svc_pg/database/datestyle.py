"""The forms in which psycopg reads times and intervals, whatever a server, a database or a role has set."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from psycopg.pq import TransactionStatus

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

READABLE: Final = "set_config('datestyle', 'iso', {0}), set_config('intervalstyle', 'postgres', {0})"
"""Expressions of SQL that choose them, with whether for the transaction only."""
_FOR_THE_SESSION: Final = "select " + READABLE.replace("{0}", "false")
_FOR_THE_TRANSACTION: Final = "select " + READABLE.replace("{0}", "true")
_RESTORE: Final = "select set_config('datestyle', %s, true), set_config('intervalstyle', %s, true)"


def choose(conn: "Connection[Any]") -> None:
    """Choose them for the session of a new connection, which stays outside a transaction."""
    if _others(conn) is not None:
        with conn.transaction():
            conn.execute(_FOR_THE_SESSION)


async def achoose(conn: "AsyncConnection[Any]") -> None:
    """As ``choose``, for an async connection."""
    if _others(conn) is not None:
        async with conn.transaction():
            await conn.execute(_FOR_THE_SESSION)


@contextmanager
def chosen(conn: "Connection[Any]") -> Iterator[None]:
    """Enter to read in them on the connection of a caller, which has its own forms again afterwards."""
    others = _others(conn)
    if others is None:
        yield
    elif conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        with conn.transaction():
            conn.execute(_FOR_THE_TRANSACTION)
            yield
    else:
        conn.execute(_FOR_THE_TRANSACTION)
        try:
            yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:  # otherwise it ended in an error
                conn.execute(_RESTORE, others)


@asynccontextmanager
async def achosen(conn: "AsyncConnection[Any]") -> AsyncIterator[None]:
    """As ``chosen``, for an async connection."""
    others = _others(conn)
    if others is None:
        yield
    elif conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        async with conn.transaction():
            await conn.execute(_FOR_THE_TRANSACTION)
            yield
    else:
        await conn.execute(_FOR_THE_TRANSACTION)
        try:
            yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:  # otherwise it ended in an error
                await conn.execute(_RESTORE, others)


def _others(conn: "Connection[Any] | AsyncConnection[Any]") -> tuple[str, str] | None:
    """The forms of the session, if psycopg does not read them.

    As the server has told with the connection; a pooler that tells nothing has the defaults.
    """
    told = conn.info.parameter_status
    times, intervals = told("DateStyle") or "ISO", told("IntervalStyle") or "postgres"
    return None if times.startswith("ISO") and intervals == "postgres" else (times, intervals)
