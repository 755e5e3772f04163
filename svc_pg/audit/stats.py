"""Count entries of the audit log by table, operation, actor and day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.audit.log import AuditQuery
from svc_pg.errors import translating
from svc_pg.query import Query, afetch

WINDOW: Final = timedelta(days=31)
MAX_ENTRIES: Final = 100_000
MAX_GROUPS: Final = 20

_CHOSEN: Final = """
with chosen as materialized (
    select "timestamp", table_name, operation::text as operation, actor_id,
           to_char("timestamp" at time zone 'UTC', 'YYYY-MM-DD') as day
      from svc.audit_logs
"""
_COUNTED: Final = """
     order by "timestamp" desc
     limit %s
),
counted as (
    select case when grouping(table_name) = 0 then 'table' when grouping(operation) = 0 then 'operation'
                when grouping(actor_id) = 0 then 'actor' when grouping(day) = 0 then 'day' else 'all' end as dimension,
           coalesce(table_name, operation, actor_id, day) as value, count(*) as entries, min("timestamp") as since
      from chosen
     group by grouping sets ((), (table_name), (operation), (actor_id), (day))
)
select dimension, value, entries, since
  from (select *, row_number() over (partition by dimension order by entries desc, value) as rank from counted) c
 where dimension = 'day' or rank <= %s
 order by dimension, case dimension when 'day' then value end, rank
"""


@dataclass(frozen=True, slots=True)
class Count:
    """The number of entries with a value; None stands for entries without one."""

    value: str | None
    entries: int


@dataclass(frozen=True, slots=True)
class AuditStats:
    """Counts of ``entries`` entries from ``since`` on, which is the time of the oldest; None if there are none.

    Tables, operations and actors are those with the most entries; days are in UTC. If ``is_complete`` is false, there
    are more entries before ``since``, which were not counted.
    """

    entries: int
    since: datetime | None
    is_complete: bool
    tables: list[Count]
    operations: list[Count]
    actors: list[Count]
    days: list[Count]


@dataclass(frozen=True, slots=True)
class _Counted:
    dimension: str
    value: str | None
    entries: int
    since: datetime | None


async def astats(conn: AsyncConnection[Any], query: AuditQuery) -> AuditStats:
    """Count the entries of the last 31 days that ``query`` selects, at most the newest 100,000.

    Its order, limit and cursor are ignored. Never commits. Raises NotInstalledError.
    """
    wanted = query.since(WINDOW).filter
    text = _CHOSEN + wanted.clause + _COUNTED
    with translating():
        rows = await afetch(conn, Query(text, (*wanted.params, MAX_ENTRIES, MAX_GROUPS), _Counted))
    of = {name: [Count(row.value, row.entries) for row in rows if row.dimension == name] for name in _DIMENSIONS}
    [everything] = [row for row in rows if row.dimension == "all"]
    return AuditStats(
        entries=everything.entries,
        since=everything.since,
        is_complete=everything.entries < MAX_ENTRIES,
        tables=of["table"],
        operations=of["operation"],
        actors=of["actor"],
        days=of["day"],
    )


_DIMENSIONS: Final = ("table", "operation", "actor", "day")
