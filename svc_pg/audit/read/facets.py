"""The values of each filter of the audit log, with the number of entries that have them, and these entries by time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, LiteralString

from psycopg import AsyncConnection

from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.sample import EntryCount, newest
from svc_pg.audit.read.stats import BUCKET, MAX_BUCKETS, MAX_NEWEST, TIMES, Bucket, TimeCount
from svc_pg.database.by_indexes import aby_indexes
from svc_pg.database.performing import arun
from svc_pg.database.query import Query, afetch
from svc_pg.formats.doc import Doc

MAX_ENTRIES: Final = MAX_NEWEST
MAX_VALUES: Final = 20

NAMES: Final = ("resource", "actor", "tenant", "operation", "severity", "label", "compliance")
TIME: Final = "time"
COUNTED: Final[Sequence[str]] = (*NAMES, TIME)

_COLUMNS: Final[dict[str, LiteralString]] = {
    "resource": "table_name",
    "actor": "actor_id",
    "tenant": "tenant_id",
    "operation": "operation",
    "severity": "severity",
    "label": "label",
}
_VALUES: Final = """
    select case {names} end as name, null::timestamptz as at, coalesce({columns}) as value, count(*) as entries
      from looked_at
     where is_selected
     group by grouping sets ({sets})
"""
_TIMES: Final = """
    select 'time' as name, date_trunc(w.bucket, l."timestamp", 'UTC') as at, null::text as value, count(*) as entries
      from looked_at l cross join whole w
     where l.is_selected
     group by 2
"""
_TAGS: Final = """
    select 'compliance' as name, null::timestamptz as at, tag as value, count(*) as entries
      from looked_at cross join pg_catalog.unnest(compliance) t(tag)
     where is_selected and compliance is not null
     group by tag
    union all
    select 'compliance', null, null, count(*)
      from looked_at
     where is_selected and coalesce(compliance, '{}') operator(pg_catalog.=) '{}'
    having count(*) > 0
"""
_RANKED: Final = """)
select c.name, c.at, c.value, c.entries, w.looked_at, w.selected, w.oldest, w.first, w.bucket
  from whole w
  left join (
    select *, row_number() over (partition by name order by at desc, entries desc, value) as rank from counted
  ) c on c.rank <= case c.name when 'time' then %s else %s end
 order by c.name, c.at, c.rank
"""


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter, and the values that it can have."""

    name: Annotated[str, Doc("The name of the filter, as a parameter of the list has it.", "actor")]
    values: Annotated[list[EntryCount], Doc("Its values with the most entries, 20 at most.")]


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of entries by the values of each filter, and by time."""

    entries: Annotated[int, Doc("The number of entries that were counted.", 5000)]
    since: Annotated[datetime | None, Doc("The time of the oldest entry that was counted; null if there is none.")]
    is_complete: Annotated[bool, Doc("False if there are older entries, which were not counted.")]
    facets: Annotated[list[Facet], Doc("The filters that were to be counted.")]
    bucket: Annotated[Bucket, BUCKET]
    times: Annotated[list[TimeCount], TIMES]


@dataclass(frozen=True, slots=True)
class _Counted:
    name: str | None
    at: datetime | None
    value: str | None
    entries: int | None
    looked_at: int
    selected: int
    oldest: datetime | None
    first: datetime | None
    bucket: Bucket


async def afacets(
    conn: AsyncConnection[Any], query: AuditQuery, *, of: Collection[str] = COUNTED, tells_reach: bool = True
) -> Facets:
    """Count what ``query`` selects among the newest 10,000 entries of its range: by the names in ``of``.

    Without ``time`` among them, there are no times. The query's order, limit and cursor are ignored. Without
    ``tells_reach``, ``since`` is the time of an entry that it selects, for readers that may see no other. Never
    commits. Raises NotInstalledError.
    """
    chosen = await arun(conn, newest(query, size=MAX_ENTRIES))
    async with aby_indexes(conn):
        rows = await afetch(
            conn, Query(chosen.text + _counted(of), (*chosen.params, MAX_BUCKETS, MAX_VALUES), _Counted)
        )
    counts: dict[str, list[EntryCount]] = {name: [] for name in NAMES if name in of}
    for row in rows:
        if row.name in counts and row.entries is not None:
            counts[row.name].append(EntryCount(row.value, row.entries))
    whole = rows[0]
    is_complete = whole.looked_at < MAX_ENTRIES
    return Facets(
        entries=whole.selected,
        since=whole.first if is_complete or not tells_reach else whole.oldest,
        is_complete=is_complete,
        facets=[Facet(name, values) for name, values in counts.items()],
        bucket=whole.bucket,
        times=[TimeCount(row.at, row.entries) for row in rows if row.at is not None and row.entries is not None],
    )


def _counted(of: Collection[str]) -> LiteralString:
    """The end of the statement that counts by these names, of which each costs time."""
    columns = {name: column for name, column in _COLUMNS.items() if name in of}
    parts = list[LiteralString]()
    if columns:
        names = " ".join(["when grouping(" + column + ") = 0 then '" + name + "'" for name, column in columns.items()])
        sets = ", ".join(["(" + column + ")" for column in columns.values()])
        text = _VALUES.replace("{names}", names).replace("{sets}", sets)
        parts.append(text.replace("{columns}", ", ".join(columns.values())))
    if TIME in of:
        parts.append(_TIMES)
    if "compliance" in of or not parts:
        parts.append(_TAGS)
    return ",\ncounted as (" + "    union all".join(parts) + _RANKED
