"""Settings for a statement whose planner has no choice but indexes, because its statistics are wrong or absent."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, LiteralString

from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from svc_pg.database.connections import apsycopg_connection, psycopg_connection

_OFF: Final[tuple[LiteralString, ...]] = ("enable_seqscan", "enable_bitmapscan", "enable_sort", "jit")
"""Without sorts a price is 10^10, for which a statement would be compiled at each call."""
_CHOOSE: Final = ", ".join(f"set_config('{name}', 'off', true)" for name in _OFF)

BY_INDEXES: Final = f"select set_config('statement_timeout', '3s', true), {_CHOOSE}"
"""Run it before the statement, in the same transaction; it also limits the statement to 3 seconds."""

_BEFORE: Final = f"select {', '.join(f'current_setting({name!r})' for name in _OFF)}, {_CHOOSE}"
_RESTORE: Final = f"select {', '.join(f'set_config({name!r}, %s, true)' for name in _OFF)}"


@contextmanager
def by_indexes(conn: Any) -> Iterator[None]:
    """Enter to leave the planner no choice but indexes on a caller's connection; leaving restores its settings."""
    conn = psycopg_connection(conn)
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        with conn.transaction():
            conn.execute(f"select {_CHOOSE}")
            yield
    else:
        [others] = conn.cursor(row_factory=tuple_row).execute(_BEFORE).fetchall()
        try:
            yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:  # otherwise it ended in an error
                conn.execute(_RESTORE, others[: len(_OFF)])


@asynccontextmanager
async def aby_indexes(conn: Any) -> AsyncIterator[None]:
    """As ``by_indexes``, for an async connection."""
    conn = await apsycopg_connection(conn)
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        async with conn.transaction():
            await conn.execute(f"select {_CHOOSE}")
            yield
    else:
        [others] = await (await conn.cursor(row_factory=tuple_row).execute(_BEFORE)).fetchall()
        try:
            yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:  # as above
                await conn.execute(_RESTORE, others[: len(_OFF)])
