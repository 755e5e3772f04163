"""Remove entries whose retention has ended: whole partitions first, then the rest in batches."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from svc_pg.audit.log.purge_report import Ages, PurgeReport, ages_of
from svc_pg.audit.portable.entries import phrases_of
from svc_pg.audit.portable.horizon import outside_transaction
from svc_pg.audit.portable.purge import purging as purging_elsewhere
from svc_pg.audit.portable.statements import Steps as StepsElsewhere
from svc_pg.audit.portable.statements import arun as arun_elsewhere
from svc_pg.audit.portable.statements import run
from svc_pg.config import AuditConfig
from svc_pg.database.connections import apsycopg_connection, async_connection, psycopg_connection, sync_connection
from svc_pg.database.dialects import dialect_of
from svc_pg.database.query import Query, RawJson
from svc_pg.database.retrying import Step, Steps, atake, check_idle, patiently, take

_TRIES: Final = 20
_BATCH: Final = 20_000
_OWN: Final = "svc.audit_logs"


@dataclass(frozen=True, slots=True)
class _Start:
    now: datetime
    unsealed_since: datetime | None
    tables: list[str] | None


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition with entries to remove: the whole of it, or ``entries``, while others are ``kept`` by holds.

    Of a large one that goes as a whole, ``entries`` is an estimate, or None.
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
# from one table to the next by the index
_START_BY_TABLE: Final = """
with recursive found (name) as (
    select min(table_name) from svc.audit_logs
    union all
    select (select min(l.table_name) from svc.audit_logs l where l.table_name > f.name)
      from found f where f.name is not null
)
select now() as now, nullif(svc.audit_unsealed_since(), 'infinity') as unsealed_since,
       array(select name from found where name is not null) as tables
"""
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


def purge(
    conn: Any,
    older_than: timedelta | None = None,
    *,
    config: AuditConfig | None = None,
    dry_run: bool = False,
    unsealed: bool = False,
    all_databases: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """Remove all entries older than ``older_than``: 1 day to 36500 days. Default: ``retention_days`` of ``config``.

    Entries of tables that have ``retention_days`` of their own in ``config`` are removed by these. Entries that a hold
    names stay, and the report tells which: see ``svc_pg.audit.hold``. If the log has seals, entries stay until they are
    sealed, unless ``unsealed``.

    ``conn`` must be outside a transaction. Each partition and each batch has a transaction of its own, which also
    writes an entry about it: operation DELETE of ``svc.audit_logs``, labelled ``audit log purged``, with the facts in
    ``before_data``. A purge that is interrupted leaves nothing to repair. A partition that stays locked for
    some seconds is postponed, so that no capture waits long behind it. ``progress`` is called with the name of each
    partition. SQLite and MySQL have no partitions: all is removed in batches, and what is locked is postponed.

    On MySQL and MariaDB, where the log is one for all databases of the server, entries of the connection's database are
    removed, or with ``all_databases`` those of all by these ages. A connection to database ``svc`` means all.

    Raises QueryError for another age or for none at all, TransactionError, and NotInstalledError.
    """
    ages = ages_of(older_than, config)
    conn = sync_connection(conn, twin="await audit.apurge(conn, ...)")
    if dialect_of(conn) != "postgresql":
        return run(conn, _elsewhere(conn, ages, dry_run=dry_run, all_databases=all_databases, progress=progress))
    conn = psycopg_connection(conn)
    check_idle(conn)
    steps = purging(ages, dry_run=dry_run, tries=_TRIES, batch=_BATCH, unsealed=unsealed, progress=progress)
    return take(conn, steps)


async def apurge(
    conn: Any,
    older_than: timedelta | None = None,
    *,
    config: AuditConfig | None = None,
    dry_run: bool = False,
    unsealed: bool = False,
    all_databases: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """As ``purge``, on an async connection."""
    ages = ages_of(older_than, config)
    conn = await async_connection(conn, twin="audit.purge(conn, ...)")
    if dialect_of(conn) != "postgresql":
        return await arun_elsewhere(
            conn, _elsewhere(conn, ages, dry_run=dry_run, all_databases=all_databases, progress=progress)
        )
    conn = await apsycopg_connection(conn)
    check_idle(conn)
    steps = purging(ages, dry_run=dry_run, tries=_TRIES, batch=_BATCH, unsealed=unsealed, progress=progress)
    return await atake(conn, steps)


def _elsewhere(
    conn: object, ages: Ages, *, dry_run: bool, all_databases: bool, progress: Callable[[str], None]
) -> StepsElsewhere[PurgeReport]:
    yield from outside_transaction(conn)
    steps = purging_elsewhere(phrases_of(conn), ages, dry_run=dry_run, all_databases=all_databases, progress=progress)
    return (yield from steps)


def purging(
    ages: Ages,
    *,
    dry_run: bool,
    tries: int = _TRIES,
    batch: int = _BATCH,
    unsealed: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Steps[PurgeReport]:
    """The steps of a purge, which take the rows of each query and return the report.

    A query whose locks others hold is tried ``tries`` times, and ``batch`` entries are removed at a time. Partitions
    that are left when ``is_over`` are postponed.
    """
    [start] = yield Query(_START if ages.are_equal else _START_BY_TABLE, (), _Start)
    limits = _limits(ages, start, unsealed=unsealed)
    before = limits[0]
    kept_since = None if unsealed else _kept_since(ages, start)
    yield Query(_FOLLOW, (), _Followed)
    parts: list[_Part] = yield Query(_PLAN, limits, _Part)
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
            drop = yield from patiently(Query(_DROP, (part.partition_oid, *limits), _Drop), attempts, is_over)
            is_done = drop is not None
            dropped += [part.partition_name] if drop and drop.is_dropped else []
        if not part.is_whole or (drop and not drop.is_dropped):  # somebody has placed a hold meanwhile
            removed, is_done = yield from _emptying(part, limits, batch, attempts, is_over)
            tables.update(removed)
        if not is_done:
            postponed.append(part.partition_name)
    if parts:
        parts = yield Query(_PLAN, limits, _Part)  # with the holds that came meanwhile
    sizes = {name: sizes[name] for name in dropped}
    return PurgeReport(before, dropped, tables.total(), postponed, dict(tables), _held(parts), kept_since, sizes)


def _held(parts: Sequence[_Part]) -> list[str]:
    return sorted({name for part in parts for name in part.kept})


def _kept_since(ages: Ages, start: _Start) -> datetime | None:
    """The time from which entries stay for want of a seal, if some of these are old enough to go."""
    known = [ages.default, *(ages.of(table) for table in start.tables or ())]
    youngest = min((age for age in known if age is not None), default=None)
    if youngest is None or start.unsealed_since is None or start.unsealed_since >= start.now - youngest:
        return None
    return start.unsealed_since


def _limits(ages: Ages, start: _Start, *, unsealed: bool) -> tuple[datetime | None, list[str], list[datetime | None]]:
    """The time before which entries may go, and those of tables that have one of their own."""

    def before(age: timedelta | None) -> datetime | None:
        if age is None:
            return None
        time = start.now - age
        return time if unsealed or start.unsealed_since is None else min(time, start.unsealed_since)

    own = {table: ages.of(table) for table in start.tables or ()}
    befores = {table: before(age) for table, age in own.items() if age != ages.default}
    if unsealed and ages.default is not None and start.unsealed_since is not None:
        befores[_OWN] = min(start.now - ages.default, start.unsealed_since)  # a seal must prove what purges say
    return before(ages.default), list(befores), list(befores.values())


def _emptying(
    part: _Part, limits: Sequence[object], size: int, tries: int, is_over: Callable[[], bool]
) -> Generator[Step, list[Any], tuple[Counter[str], bool]]:
    """The number of entries removed by table, and whether those were all."""
    removed: Counter[str] = Counter()
    at_table: str | None = None
    reached: datetime | None = None
    while True:
        query = Query(_DELETE, (part.partition_oid, at_table, reached, *limits, size), _Batch)
        batch = yield from patiently(query, tries, is_over)
        if batch is None:
            return removed, False
        removed.update({table: facts["entries"] for table, facts in batch.by_table.value.items()})
        at_table, reached = batch.at_table, batch.reached
        if batch.entries < size:
            return removed, True
