"""Set ``datestyle`` and ``intervalstyle`` to the values that psycopg reads."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from psycopg.pq import TransactionStatus

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

READABLE: Final = "set_config('datestyle', 'iso', {0}), set_config('intervalstyle', 'postgres', {0})"
"""SQL expressions that set them; the hole is true for the transaction only, or false for the session."""
_FOR_THE_SESSION: Final = "select " + READABLE.replace("{0}", "false")
_FOR_THE_TRANSACTION: Final = "select " + READABLE.replace("{0}", "true")
_RESTORE: Final = "select set_config('datestyle', %s, true), set_config('intervalstyle', %s, true)"


def choose(conn: "Connection[Any]") -> None:
    """Set them for the session of a new connection, which stays outside a transaction."""
    if _others(conn) is not None:
        with conn.transaction():
            conn.execute(_FOR_THE_SESSION)


async def achoose(conn: "AsyncConnection[Any]") -> None:
    """As ``choose``, for an async connection."""
    if _others(conn) is not None:
        async with conn.transaction():
            await conn.execute(_FOR_THE_SESSION)


@contextmanager
def readable_datestyle(conn: "Connection[Any]") -> Iterator[None]:
    """Enter to set them on a caller's connection; leaving restores its own."""
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
async def areadable_datestyle(conn: "AsyncConnection[Any]") -> AsyncIterator[None]:
    """As ``readable_datestyle``, for an async connection."""
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
    """The session's values, if psycopg does not read them; otherwise None.

    The server reports them when it connects; a pooler that reports none counts as one with the defaults.
    """
    told = conn.info.parameter_status
    times, intervals = told("DateStyle") or "ISO", told("IntervalStyle") or "postgres"
    return None if times.startswith("ISO") and intervals == "postgres" else (times, intervals)
