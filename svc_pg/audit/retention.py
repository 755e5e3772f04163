"""Remove entries whose retention has ended: whole partitions first, then the rest in batches."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import AsyncConnection, Connection
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus

from svc_pg.audit.portable.entries import phrases_of
from svc_pg.audit.portable.horizon import outside_transaction
from svc_pg.audit.portable.purge import purging as purging_elsewhere
from svc_pg.audit.portable.statements import Steps as StepsElsewhere
from svc_pg.audit.portable.statements import arun as arun_elsewhere
from svc_pg.audit.portable.statements import run
from svc_pg.audit.purge_report import PurgeReport, check_age
from svc_pg.dialects import dialect_of
from svc_pg.errors import TransactionError, translating
from svc_pg.query import Query, Row, afetch, fetch

_TRIES: Final = 20
_PAUSE: Final = timedelta(milliseconds=250)
_BATCH: Final = 20_000


Step = Query[Any] | timedelta
"""A query to run in a transaction of its own, or a time to wait."""
Rows = list[Any] | LockNotAvailable
"""The result of a query: its rows, or the fact that others hold its locks."""
Steps = Generator[Step, list[Any], PurgeReport]


@dataclass(frozen=True, slots=True)
class _Start:
    before: datetime


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition with entries to remove: the whole of it, or ``entries``."""

    partition_oid: int
    partition_name: str
    is_whole: bool
    entries: int | None


@dataclass(frozen=True, slots=True)
class _Batch:
    """The number of entries removed, and the time of the last of them."""

    entries: int
    reached: datetime | None


@dataclass(frozen=True, slots=True)
class _Drop:
    is_dropped: bool


_BEFORE: Final = "select now() - %s as before"
_PLAN: Final = "select partition_oid, partition_name, is_whole, entries from svc.audit_purge_plan(%s)"
_DROP: Final = "select svc.audit_purge_partition(%s::oid, %s) as is_dropped"
_DELETE: Final = """
select entries, reached from svc.audit_purge_entries(%s::oid, coalesce(%s::timestamptz, '-infinity'), %s, %s)
"""


def purge(
    conn: Any,
    older_than: timedelta,
    *,
    dry_run: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """Remove all entries older than ``older_than``: 1 day to 36500 days.

    ``conn`` must be outside a transaction. Each partition and each batch has a transaction of its own, which also
    writes an entry about it: operation DELETE of ``svc.audit_logs``, labelled ``audit log purged``, with the facts in
    ``before_data``. A purge that is interrupted leaves nothing to repair. A partition that stays locked for
    some seconds is postponed, so that no capture waits long behind it. ``progress`` is called with the name of each
    partition. SQLite and MySQL have no partitions: all is removed in batches, and what is locked is postponed.

    Raises QueryError for another age, TransactionError, and NotInstalledError.
    """
    if dialect_of(conn) != "postgresql":
        return run(conn, _elsewhere(conn, older_than, dry_run=dry_run, progress=progress))
    _check_idle(conn)
    steps = purging(older_than, dry_run=dry_run, tries=_TRIES, batch=_BATCH, progress=progress)
    with translating():
        try:
            step = next(steps)
            while True:
                if isinstance(step, timedelta):
                    time.sleep(step.total_seconds())
                    step = steps.send([])
                else:
                    step = _go_on(steps, _rows(conn, step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the type that the generator returns


async def apurge(
    conn: Any,
    older_than: timedelta,
    *,
    dry_run: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """As ``purge``, on an async connection."""

    async def rows(query: Query[Any]) -> Rows:
        try:
            async with conn.transaction():
                return await afetch(conn, query)
        except LockNotAvailable as error:
            return error

    if dialect_of(conn) != "postgresql":
        return await arun_elsewhere(conn, _elsewhere(conn, older_than, dry_run=dry_run, progress=progress))
    _check_idle(conn)
    return await arun(purging(older_than, dry_run=dry_run, tries=_TRIES, batch=_BATCH, progress=progress), rows)


def _elsewhere(
    conn: object, older_than: timedelta, *, dry_run: bool, progress: Callable[[str], None]
) -> StepsElsewhere[PurgeReport]:
    yield from outside_transaction(conn)
    return (yield from purging_elsewhere(phrases_of(conn), older_than, dry_run=dry_run, progress=progress))


async def arun(steps: Steps, rows: Callable[[Query[Any]], Awaitable[Rows]]) -> PurgeReport:
    """Take the steps of a purge; ``rows`` runs each query in a transaction of its own."""
    with translating():
        try:
            step = next(steps)
            while True:
                if isinstance(step, timedelta):
                    await asyncio.sleep(step.total_seconds())
                    step = steps.send([])
                else:
                    step = _go_on(steps, await rows(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the type that the generator returns


def purging(
    older_than: timedelta,
    *,
    dry_run: bool,
    tries: int,
    batch: int,
    progress: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Steps:
    """The steps of a purge, which take the rows of each query and return the report. Raises QueryError at the first.

    A query whose locks others hold is tried ``tries`` times, and ``batch`` entries are removed at a time. Partitions
    that are left when ``is_over`` are postponed.
    """
    check_age(older_than)
    [start] = yield Query(_BEFORE, (older_than,), _Start)
    before: datetime = start.before
    parts: list[_Part] = yield Query(_PLAN, (before,), _Part)
    if dry_run:
        whole = [part.partition_name for part in parts if part.is_whole]
        return PurgeReport(before, whole, sum(part.entries or 0 for part in parts))
    dropped: list[str] = []
    postponed: list[str] = []
    removed = 0
    for part in parts:
        progress(part.partition_name)
        attempts = 1 if postponed else tries  # a session that locks the whole log locks all of its partitions
        if part.is_whole:
            drop = yield from _patiently(Query(_DROP, (part.partition_oid, before), _Drop), attempts, is_over)
            is_done = drop is not None
            dropped += [part.partition_name] if drop and drop.is_dropped else []
        else:
            entries, is_done = yield from _emptying(part, before, batch, attempts, is_over)
            removed += entries
        if not is_done:
            postponed.append(part.partition_name)
    return PurgeReport(before, dropped, removed, postponed)


def _emptying(
    part: _Part, before: datetime, size: int, tries: int, is_over: Callable[[], bool]
) -> Generator[Step, list[Any], tuple[int, bool]]:
    """The number of entries removed, and whether those were all."""
    removed, reached = 0, None
    while True:
        query = Query(_DELETE, (part.partition_oid, reached, before, size), _Batch)
        batch = yield from _patiently(query, tries, is_over)
        if batch is None:
            return removed, False
        removed, reached = removed + batch.entries, batch.reached
        if batch.entries < size:
            return removed, True


def _patiently(query: Query[Row], tries: int, is_over: Callable[[], bool]) -> Generator[Step, list[Any], Row | None]:
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


def _go_on(steps: Steps, rows: Rows) -> Step:
    return steps.throw(rows) if isinstance(rows, LockNotAvailable) else steps.send(rows)


def _rows(conn: Connection[Any], query: Query[Any]) -> Rows:
    try:
        with conn.transaction():
            return fetch(conn, query)
    except LockNotAvailable as error:
        return error


def _check_idle(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise TransactionError(
            "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
        )
