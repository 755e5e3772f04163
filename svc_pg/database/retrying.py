"""Take the steps of a call: queries, each of which takes the rows of the one before, and waits between them.

Most calls try a query again whose locks others hold.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import closing
from datetime import timedelta
from typing import Any, Final, TypeVar

from psycopg import AsyncConnection, Connection
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus

from svc_pg.database.query import Query, Row, afetch, fetch
from svc_pg.errors import TransactionError, translating

_PAUSE: Final = timedelta(milliseconds=250)
# Locks decide what is held, and only the snapshot of a statement that begins after a wait shows it
_ISOLATION: Final = "set transaction isolation level read committed"

Result = TypeVar("Result")

Step = Query[Any] | timedelta | Future[list[Any]]
"""A query to run in a transaction of its own, a time to wait, or the work of another thread to wait for."""
Rows = list[Any] | LockNotAvailable
"""The result of a query: its rows, or the fact that others hold its locks."""
Steps = Generator[Step, list[Any], Result]


def patiently(
    query: Query[Row], tries: int, is_over: Callable[[], bool] = lambda: False
) -> Generator[Step, list[Any], Row | None]:
    """The only row of a query, or None if others held its locks for too long."""
    for number in range(tries):
        if number:
            yield _PAUSE
        if is_over():
            break
        try:
            row: Row = (yield query)[0]
        except LockNotAvailable:
            continue
        return row
    return None


def take(conn: Connection[Any], steps: Steps[Result]) -> Result:
    """Take the steps on a connection, which is outside a transaction."""
    return take_by(steps, lambda query: _rows(conn, query))


async def atake(conn: AsyncConnection[Any], steps: Steps[Result]) -> Result:
    """As ``take``, on an async connection."""
    return await atake_by(steps, lambda query: arows(conn, query))


def take_by(steps: Steps[Result], rows: Callable[[Query[Any]], Rows]) -> Result:
    """Take the steps; ``rows`` runs each query in a transaction of its own."""
    with translating(), closing(steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, timedelta):
                    time.sleep(step.total_seconds())
                    step = steps.send([])
                elif isinstance(step, Future):
                    step = steps.send(step.result())
                else:
                    step = _go_on(steps, rows(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the type that the generator returns


async def atake_by(steps: Steps[Result], rows: Callable[[Query[Any]], Awaitable[Rows]]) -> Result:
    """As ``take_by``, with ``rows`` that is async."""
    with translating(), closing(steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, timedelta):
                    await asyncio.sleep(step.total_seconds())
                    step = steps.send([])
                elif isinstance(step, Future):
                    step = steps.send(await asyncio.wrap_future(step))
                else:
                    step = _go_on(steps, await rows(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the type that the generator returns


def _go_on(steps: Steps[Any], rows: Rows) -> Step:
    return steps.throw(rows) if isinstance(rows, LockNotAvailable) else steps.send(rows)


def _rows(conn: Connection[Any], query: Query[Any]) -> Rows:
    try:
        with conn.transaction():
            conn.execute(_ISOLATION)
            return fetch(conn, query)
    except LockNotAvailable as error:
        return error


async def arows(conn: AsyncConnection[Any], query: Query[Any]) -> Rows:
    """The rows of a query, in a transaction of its own."""
    try:
        async with conn.transaction():
            await conn.execute(_ISOLATION)
            return await afetch(conn, query)
    except LockNotAvailable as error:
        return error


def check_idle(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    """Raise TransactionError if the connection is inside a transaction."""
    if conn.closed or conn.info.transaction_status == TransactionStatus.IDLE:
        return  # of one that is closed, its driver says so
    raise TransactionError(
        "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
    )
