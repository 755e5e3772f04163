"""Count entries of the audit log by time, table, actor, operation and severity."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from psycopg import AsyncConnection

from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.sample import EntryCount, Sample, newest, percent_of, spread
from svc_pg.database.by_indexes import aby_indexes
from svc_pg.database.performing import arun
from svc_pg.database.query import Query, afetch
from svc_pg.formats.doc import Doc

Bucket = Literal["minute", "hour", "day"]

BUCKETS: Final[tuple[Bucket, ...]] = get_args(Bucket)
MAX_ENTRIES: Final = 50_000
MAX_NEWEST: Final = 10_000
"""The newest entries that are counted without a sample, if no more are wanted."""
MAX_GROUPS: Final = 20
MAX_BUCKETS: Final = 1_500

BUCKET: Final = Doc("The unit of `times`.")
TIMES: Final = Doc("The newest 1,500 buckets that have entries, in UTC, oldest first.")

_LEAST_SAMPLE: Final = 100
_COUNTED: Final = """,
span as materialized (
    select looked_at, oldest, first, coalesce(%s, bucket) as bucket from whole
),
counted as (
    select case when grouping(at) = 0 then 'time' when grouping(table_name) = 0 then 'table'
                when grouping(actor_id) = 0 then 'actor' when grouping(operation) = 0 then 'operation'
                when grouping(severity) = 0 then 'severity' else 'all' end as dimension,
           at, coalesce(table_name, actor_id, operation, severity) as value, count(*) as entries
      from (
        select date_trunc(span.bucket, l."timestamp", 'UTC') as at, l.table_name, l.actor_id, l.operation, l.severity
          from looked_at l cross join span
         where l.is_selected
      ) l
     group by grouping sets ((), (at), (table_name), (actor_id), (operation), (severity))
)
select c.dimension, c.at, c.value, c.entries, span.looked_at, span.oldest, span.first, span.bucket
  from (
    select *, row_number() over (partition by dimension order by at desc, entries desc, value) as rank from counted
  ) c cross join span
 where c.rank <= case c.dimension when 'time' then %s else %s end
 order by c.dimension, c.at, c.rank
"""


@dataclass(frozen=True, slots=True)
class TimeCount:
    """The number of entries in a minute, an hour or a day."""

    at: Annotated[datetime, Doc("The beginning of the minute, hour or day.")]
    entries: Annotated[int, Doc("The number of entries in it.", 17)]


@dataclass(frozen=True, slots=True)
class AuditStats:
    """Counts of entries by time and by value."""

    entries: Annotated[int, Doc("The number of entries.", 5000)]
    since: Annotated[datetime | None, Doc("The time of the oldest entry that was counted; null if there is none.")]
    is_complete: Annotated[bool, Doc("False if only entries from `since` on were counted.")]
    is_estimate: Annotated[bool, Doc("True if the numbers were computed from a sample of the range.")]
    bucket: Annotated[Bucket, BUCKET]
    times: Annotated[list[TimeCount], TIMES]
    tables: Annotated[list[EntryCount], Doc("The tables with the most entries, 20 at most.")]
    actors: Annotated[list[EntryCount], Doc("The actors with the most entries, 20 at most.")]
    operations: Annotated[list[EntryCount], Doc("The operations.")]
    severities: Annotated[list[EntryCount], Doc("The severities.")]


@dataclass(frozen=True, slots=True)
class _Counted:
    dimension: str
    at: datetime | None
    value: str | None
    entries: int
    looked_at: int
    oldest: datetime | None
    first: datetime | None
    bucket: Bucket


async def astats(
    conn: AsyncConnection[Any],
    query: AuditQuery,
    *,
    bucket: Bucket | None = None,
    is_newest: bool = False,
    tells_reach: bool = True,
) -> AuditStats:
    """Count the entries that ``query`` selects: all if its range has less than 50,000, else a sample of them.

    With ``is_newest`` only the newest 10,000 of its range count, at the price of a page of the list.
    Without ``bucket``, times are by minute up to three hours, by hour up to seven days, else by day. The order, limit
    and cursor of the query are ignored. Without ``tells_reach``, ``since`` is the time of an entry that the query
    selects, for readers that may see no other. Never commits. Raises NotInstalledError.
    """
    size = MAX_NEWEST if is_newest else MAX_ENTRIES
    newest_of_range = await arun(conn, newest(query, size=size))
    async with aby_indexes(conn):
        exact = await _counted(conn, newest_of_range, bucket)
    if is_newest or exact[0].looked_at < size:
        return _stats(exact, is_complete=exact[0].looked_at < size, tells_reach=tells_reach)
    percent = await arun(conn, percent_of(query, size=MAX_ENTRIES))
    sample = await _counted(conn, spread(query, percent=percent), bucket)
    if _entries(sample) < _LEAST_SAMPLE:  # too few to conclude from
        return _stats(exact, is_complete=False, tells_reach=tells_reach)
    return _stats(sample, is_complete=True, tells_reach=tells_reach, times=100.0 / percent)


async def _counted(conn: AsyncConnection[Any], sample: Sample, bucket: Bucket | None) -> list[_Counted]:
    params = (*sample.params, bucket, MAX_BUCKETS, MAX_GROUPS)
    return await afetch(conn, Query(sample.text + _COUNTED, params, _Counted))


def _entries(rows: list[_Counted]) -> int:
    return next(row.entries for row in rows if row.dimension == "all")


def _stats(rows: list[_Counted], *, is_complete: bool, tells_reach: bool, times: float | None = None) -> AuditStats:
    def scaled(entries: int) -> int:
        return entries if times is None else round(entries * times)

    of = {
        name: [EntryCount(row.value, scaled(row.entries)) for row in rows if row.dimension == name]
        for name in ("table", "actor", "operation", "severity")
    }
    return AuditStats(
        entries=scaled(_entries(rows)),
        since=rows[0].first if is_complete or not tells_reach else rows[0].oldest,
        is_complete=is_complete,
        is_estimate=times is not None,
        bucket=rows[0].bucket,
        times=[TimeCount(row.at, scaled(row.entries)) for row in rows if row.at is not None],
        tables=of["table"],
        actors=of["actor"],
        operations=of["operation"],
        severities=of["severity"],
    )
