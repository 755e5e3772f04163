"""The entries of tables by day: all of the last days, or estimates from a sample of a log that has many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from svc_pg.audit.read.audit_query import query
from svc_pg.audit.read.sample import Sample, newest, percent_of, spread
from svc_pg.database.effects import Effects
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query
from svc_pg.formats.doc import Doc

DAYS: Final = 14
"""The days whose entries are counted, with today, in UTC."""
MAX_ENTRIES: Final = 50_000
"""The entries that are counted one by one, and about the size of a sample of those before them."""

_Counts = Mapping[tuple[str | None, datetime | None], int]

_BY_DAY: Final = """,
day as (
    select l.table_name, date_trunc('day', l."timestamp", 'UTC') as day, pg_catalog.count(*) as entries,
           pg_catalog.max(l."timestamp") as last
      from looked_at l where l.table_name = any (%s) group by 1, 2
)
select w.looked_at, w.oldest, now() as now, d.table_name, d.day, coalesce(d.entries, 0) as entries, d.last
  from whole w left join day d on true
"""


@dataclass(frozen=True, slots=True)
class DayCount:
    """The number of entries of a table in a day."""

    day: Annotated[datetime, Doc("The beginning of the day, in UTC.")]
    entries: Annotated[int, Doc("The number of its entries.", 210)]
    is_estimate: Annotated[bool, Doc("True if it was computed from a sample: few entries may be missed.")]


@dataclass(frozen=True, slots=True)
class TableDays:
    """The days of a table, the oldest first, and the time of the newest entry that was counted."""

    days: Sequence[DayCount]
    last: datetime | None


@dataclass(frozen=True, slots=True)
class _Day:
    looked_at: int
    oldest: datetime | None
    now: datetime
    table_name: str | None
    day: datetime | None
    entries: int
    last: datetime | None


def days_of(tables: Sequence[str]) -> Effects[Mapping[str, TableDays]]:
    """The days of those tables that have entries in the last ``DAYS``, whatever the size of the log."""
    recent = query().since(timedelta(days=DAYS))
    exact: list[_Day] = yield ByIndexes(_by_day((yield from newest(recent, size=MAX_ENTRIES)), tables))
    [first, *_] = exact
    if first.looked_at < MAX_ENTRIES or first.oldest is None:
        return _days(exact, {}, since=first.now - timedelta(days=DAYS))
    percent: float = yield from percent_of(recent, size=MAX_ENTRIES)
    sample: list[_Day] = yield _by_day(spread(recent, percent=percent), tables)
    estimates: _Counts = {(each.table_name, each.day): round(each.entries * 100 / percent) for each in sample}
    return _days([*exact, *sample], estimates, since=first.oldest)


def _by_day(sample: Sample, tables: Sequence[str]) -> Query[_Day]:
    return Query(sample.text + _BY_DAY, (*sample.params, list(tables)), _Day)


def _days(rows: Sequence[_Day], estimates: _Counts, *, since: datetime) -> Mapping[str, TableDays]:
    """The counts of rows from ``since`` on; of days that began before it the estimates."""
    today = rows[0].now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=number) for number in reversed(range(DAYS))]
    counted: dict[tuple[str | None, datetime | None], int] = {}
    last: dict[str, datetime] = {}
    for row in rows:
        if row.table_name is not None and row.last is not None:
            counted.setdefault((row.table_name, row.day), row.entries)
            last[row.table_name] = max(row.last, last.get(row.table_name, row.last))
    found = {}
    for table, newest_entry in last.items():
        of_days = []
        for day in days:
            entries = counted.get((table, day), 0)
            if is_estimate := day < since:
                entries = max(entries, estimates.get((table, day), 0))
            of_days.append(DayCount(day, entries, is_estimate))
        found[table] = TableDays(of_days, newest_entry)
    return found
