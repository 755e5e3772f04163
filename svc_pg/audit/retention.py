"""Remove entries that are older than the log has to keep them: whole partitions first, then the rest in batches."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus

from svc_pg import durations
from svc_pg.errors import QueryError, TransactionError, translating
from svc_pg.query import Query, Row, fetch, scalar

OLDEST_AGE: Final = timedelta(days=36500)
YOUNGEST_AGE: Final = timedelta(days=1)

_TRIES: Final = 20
_PAUSE: Final = timedelta(milliseconds=250)
_BATCH: Final = 20_000


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What was removed, or would be: all entries from before ``before``.

    ``partitions`` were dropped as a whole and ``entries`` counts those removed one by one. ``postponed`` names the
    partitions that readers or writers kept locked; the next purge goes on with them.
    """

    before: datetime
    partitions: list[str] = field(default_factory=list)
    entries: int = 0
    postponed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Part:
    """A partition with entries to remove: the whole of it, or ``entries``."""

    partition_oid: int
    partition_name: str
    is_whole: bool
    entries: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """How many entries were removed, and up to which time."""

    entries: int
    reached: datetime | None


@dataclass(frozen=True, slots=True)
class Drop:
    """Whether a partition was dropped."""

    is_dropped: bool


_PLAN: Final = "select partition_oid, partition_name, is_whole, entries from svc.audit_purge_plan(%s)"
_DROP: Final = "select svc.audit_purge_partition(%s::oid, %s) as is_dropped"
_DELETE: Final = """
select entries, reached from svc.audit_purge_entries(%s::oid, coalesce(%s::timestamptz, '-infinity'), %s, %s)
"""


def purge(
    conn: Connection[Any],
    older_than: timedelta,
    *,
    dry_run: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """Remove all entries older than ``older_than``: 1 day to 36500 days.

    ``conn`` must be outside a transaction. Each partition and each batch has a transaction of its own, which also
    writes an entry about it: operation DELETE of ``svc.audit_logs``, labelled ``audit log purged``, with the facts in
    ``before_data``. A purge that is interrupted leaves nothing to repair. What stays locked for some seconds is
    postponed, so that no capture waits long behind it. ``progress`` is told what is being removed.

    Raises QueryError for another age, TransactionError, and NotInstalledError.
    """
    if not YOUNGEST_AGE <= older_than <= OLDEST_AGE:
        raise QueryError(
            f"{durations.text(older_than)} is not an age to purge by",
            hint=f"Write {YOUNGEST_AGE.days} to {OLDEST_AGE.days} days, such as 90d.",
        )
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise TransactionError(
            "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
        )
    with translating():
        with conn.transaction():
            before: datetime = scalar(conn, "select now() - %s", (older_than,))
            parts = fetch(conn, plan(before))
        if dry_run:
            whole = [part.partition_name for part in parts if part.is_whole]
            return PurgeReport(before, whole, sum(part.entries or 0 for part in parts))
        return _remove(conn, parts, before, progress)


def plan(before: datetime) -> Query[Part]:
    """What a purge of all entries from before then has to do, a partition a row."""
    return Query(_PLAN, (before,), Part)


def drop(part: Part, before: datetime) -> Query[Drop]:
    """Drop a whole partition. Running it raises LockNotAvailable where others keep it locked."""
    return Query(_DROP, (part.partition_oid, before), Drop)


def delete(part: Part, before: datetime, *, reached: datetime | None, limit: int) -> Query[Batch]:
    """Remove ``limit`` entries of a partition, after those ``reached`` by the batch before. Raises as ``drop`` does."""
    return Query(_DELETE, (part.partition_oid, reached, before, limit), Batch)


def _remove(
    conn: Connection[Any], parts: Sequence[Part], before: datetime, progress: Callable[[str], None]
) -> PurgeReport:
    dropped: list[str] = []
    postponed: list[str] = []
    removed = 0
    for part in parts:
        progress(part.partition_name)
        tries = 1 if postponed else _TRIES  # who keeps the whole log from us keeps all of its partitions
        try:
            if not part.is_whole:
                for entries in _batches(conn, part, before, tries):
                    removed += entries
            elif _patiently(conn, drop(part, before), tries).is_dropped:
                dropped.append(part.partition_name)
        except LockNotAvailable:
            postponed.append(part.partition_name)
    return PurgeReport(before, dropped, removed, postponed)


def _batches(conn: Connection[Any], part: Part, before: datetime, tries: int) -> Iterator[int]:
    reached = None
    while True:
        batch = _patiently(conn, delete(part, before, reached=reached, limit=_BATCH), tries)
        yield batch.entries
        if batch.entries < _BATCH:
            return
        reached = batch.reached


def _patiently(conn: Connection[Any], query: Query[Row], tries: int) -> Row:
    """Its only row, in a transaction of its own. Raises LockNotAvailable when the last try failed too."""
    while True:
        tries -= 1
        try:
            with conn.transaction():
                return fetch(conn, query)[0]
        except LockNotAvailable:
            if not tries:
                raise
        time.sleep(_PAUSE.total_seconds())
