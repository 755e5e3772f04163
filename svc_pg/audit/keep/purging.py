"""Purge PostgreSQL's log: whole partitions first, then the rest in batches."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Apart
from svc_pg.database.query import Query, RawJson
from svc_pg.database.retrying import patiently
from svc_pg.database.statements import statement

TRIES: Final = 20
BATCH: Final = 20_000
_OWN: Final = "svc.audit_logs"


@dataclass(frozen=True, slots=True)
class _Start:
    now: datetime
    unsealed_since: datetime | None
    tables: list[str] | None


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition with entries to remove: all of it, or ``entries``, while holds keep the ``kept`` ones.

    For a large partition that is dropped as a whole, ``entries`` is an estimate, or None.
    """

    partition_oid: int
    partition_name: str
    is_whole: bool
    entries: int | None
    by_table: RawJson
    kept: list[str]


@dataclass(frozen=True, slots=True)
class _Batch:
    """The entries removed, and the table and the time of the last of them."""

    entries: int
    by_table: RawJson
    at_table: str | None
    reached: datetime | None


@dataclass(frozen=True, slots=True)
class _Followed:
    is_followed: bool


@dataclass(frozen=True, slots=True)
class _Drop:
    is_dropped: bool


_START: Final = """
select now() as now, nullif(svc.audit_unsealed_since(), 'infinity') as unsealed_since, null::text[] as tables
"""
_START_BY_TABLE: Final = statement("queries/audit/purge_start_by_table.sql")
_FOLLOW: Final = "select true as is_followed from svc.audit_follow_holds()"
_PLAN: Final = """
select partition_oid, partition_name, is_whole, entries, by_table, kept
  from svc.audit_purge_plan(%s, %s::text[], %s::timestamptz[])
"""
_DROP: Final = "select svc.audit_purge_partition(%s::oid, %s, %s::text[], %s::timestamptz[]) as is_dropped"
_DELETE: Final = """
select entries, by_table, at_table, reached
  from svc.audit_purge_entries(%s::oid, %s, %s::timestamptz, %s, %s::text[], %s::timestamptz[], %s)
"""


def purging(
    ages: Ages,
    *,
    dry_run: bool,
    tries: int,
    batch: int,
    unsealed: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Effects[PurgeReport]:
    """The effects of a purge, and its report.

    A query is tried ``tries`` times while others hold its locks, and ``batch`` entries are removed at a time.
    Partitions that remain when ``is_over`` are postponed.
    """
    [start] = yield Apart(Query(_START if ages.are_equal else _START_BY_TABLE, (), _Start))
    limits = _limits(ages, start, unsealed=unsealed)
    before = limits[0]
    kept_since = None if unsealed else _kept_since(ages, start)
    yield Apart(Query(_FOLLOW, (), _Followed))
    parts: list[_Part] = yield Apart(Query(_PLAN, limits, _Part))
    sizes = {part.partition_name: part.entries for part in parts if part.is_whole}
    tables: Counter[str] = Counter()
    if dry_run:
        for part in parts:
            tables.update(part.by_table.value)
        return PurgeReport(before, list(sizes), tables.total(), [], dict(tables), _held(parts), kept_since, sizes)
    dropped: list[str] = []
    postponed: list[str] = []
    for part in parts:
        progress(part.partition_name)
        attempts = 1 if postponed else tries  # a session that locks the whole log locks all of its partitions
        drop: _Drop | None = None
        if part.is_whole:
            query = Apart(Query(_DROP, (part.partition_oid, *limits), _Drop))
            drop = yield from patiently(query, attempts, is_over)
            is_done = drop is not None
            dropped += [part.partition_name] if drop and drop.is_dropped else []
        if not part.is_whole or (drop and not drop.is_dropped):  # a hold was placed meanwhile
            removed, is_done = yield from _emptying(part, limits, batch, attempts, is_over)
            tables.update(removed)
        if not is_done:
            postponed.append(part.partition_name)
    if parts:
        parts = yield Apart(Query(_PLAN, limits, _Part))  # with the holds that came meanwhile
    sizes = {name: sizes[name] for name in dropped}
    return PurgeReport(before, dropped, tables.total(), postponed, dict(tables), _held(parts), kept_since, sizes)


def _held(parts: Sequence[_Part]) -> list[str]:
    return sorted({name for part in parts for name in part.kept})


def _kept_since(ages: Ages, start: _Start) -> datetime | None:
    """The time of the oldest unsealed entry, if the lack of a seal keeps entries that are old enough to go."""
    known = [ages.default, *(ages.of(table) for table in start.tables or ())]
    youngest = min((age for age in known if age is not None), default=None)
    if youngest is None or start.unsealed_since is None or start.unsealed_since >= start.now - youngest:
        return None
    return start.unsealed_since


def _limits(ages: Ages, start: _Start, *, unsealed: bool) -> tuple[datetime | None, list[str], list[datetime | None]]:
    """The time before which entries may go, and the times of tables with an age of their own."""

    def before(age: timedelta | None) -> datetime | None:
        if age is None:
            return None
        time = start.now - age
        return time if unsealed or start.unsealed_since is None else min(time, start.unsealed_since)

    own = {table: ages.of(table) for table in start.tables or ()}
    befores = {table: before(age) for table, age in own.items() if age != ages.default}
    if unsealed and ages.default is not None and start.unsealed_since is not None:
        befores[_OWN] = min(start.now - ages.default, start.unsealed_since)  # a seal must prove entries about purges
    return before(ages.default), list(befores), list(befores.values())


def _emptying(
    part: _Part, limits: Sequence[object], size: int, tries: int, is_over: Callable[[], bool]
) -> Effects[tuple[Counter[str], bool]]:
    """The number of entries removed by table, and whether those were all."""
    removed: Counter[str] = Counter()
    at_table: str | None = None
    reached: datetime | None = None
    while True:
        query = Apart(Query(_DELETE, (part.partition_oid, at_table, reached, *limits, size), _Batch))
        batch: _Batch | None = yield from patiently(query, tries, is_over)
        if batch is None:
            return removed, False
        removed.update({table: facts["entries"] for table, facts in batch.by_table.value.items()})
        at_table, reached = batch.at_table, batch.reached
        if batch.entries < size:
            return removed, True
