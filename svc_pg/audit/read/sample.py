"""Entries to be counted: the newest of a range, or some of all its blocks; and which of them a query selects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, LiteralString

from psycopg.sql import Identifier

from svc_pg.audit.log.entry import ORDER_BY
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.listing import filter_of, reach_of_selection, times_of
from svc_pg.audit.read.stretch import Reach, stretch
from svc_pg.database.effects import Effects, Statement
from svc_pg.formats.doc import Doc

# Only the entries of the range are looked at, in the order of an index, so that a rare value costs no more than a
# frequent one. Narrow rows, because they are kept until they are counted.
_LOOKED_AT: Final = """
with looked_at as materialized (
    select "timestamp", table_name, operation::text as operation, actor_id, tenant_id, label,
           severity::text as severity, compliance, """
_NEWEST: Final = """ as is_selected
      from """
_END: Final = " audit_logs\n),\n"
_VALUES: Final = """
with counted as materialized (
    select value, count(*) as entries, bool_or(is_selected) as is_selected
      from (
        select {column} as value, """
_OF_VALUES: Final = """ audit_logs
      ) looked_at
     group by value
)
"""
_SPREAD: Final = """ as is_selected
      from svc.audit_logs tablesample system (%s) repeatable (1)"""
_EXTENT: Final = """extent as materialized (
    select count(*) as looked_at, count(*) filter (where is_selected) as selected, min("timestamp") as oldest,
           min("timestamp") filter (where is_selected) as first, max("timestamp") filter (where is_selected) as last
      from looked_at
),
"""
_UNIT: Final = """whole as materialized (
    select *, case when last - first > interval '7 days' then 'day'
                   when last - first > interval '3 hours' then 'hour' else 'minute' end as bucket
      from extent
)"""
_WHOLE: Final = _EXTENT + _UNIT

_MOST_BLOCKS: Final = 5_000
"""The blocks that a sample is from, whatever number of entries the planner expects: a page has some twenty."""
_EXPLAIN: Final = "explain (format json, verbose) select from svc.audit_logs"
_BLOCKS: Final = """
select coalesce(sum(pg_relation_size(to_regclass(name))), 0)::bigint / current_setting('block_size')::bigint + 1
  from pg_catalog.unnest(%s::text[]) name
"""


@dataclass(frozen=True, slots=True)
class EntryCount:
    """The number of entries with a value."""

    value: Annotated[str | None, Doc("The value; null stands for entries without one.", "public.customer")]
    entries: Annotated[int, Doc("The number of entries with it.", 210)]


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a statement that makes ``looked_at``, whose rows count if ``is_selected``, and ``whole``.

    The ``bucket`` of the whole is the unit of time that suits it.
    """

    text: LiteralString
    params: tuple[object, ...]


def newest(query: AuditQuery, *, size: int) -> Effects[Sample]:
    """The entries that ``query`` selects among the newest ``size`` of its range, whichever index there is for that."""
    found = yield from _among_newest(query, size)
    return Sample(_LOOKED_AT + found.text + _END + _WHOLE, found.params)


def values_of_newest(query: AuditQuery, column: LiteralString, *, size: int) -> Effects[Sample]:
    """The beginning of a statement that makes ``counted`` of the same entries.

    Its rows are each ``value`` of a column, the number of ``entries`` with it, and if one of them ``is_selected``.
    """
    found = yield from _among_newest(query, size)
    text = _VALUES.replace("{column}", column) + found.text + _OF_VALUES
    return Sample(text, found.params)


def _among_newest(query: AuditQuery, size: int) -> Effects[Sample]:
    """If an entry is selected, and the entries that are looked at."""
    wanted, reach = filter_of(query.conditions), reach_of_selection(query) or Reach(times_of(query))
    found = yield from stretch(reach, ORDER_BY["newest"], most=size)
    return Sample(wanted.is_true + _NEWEST + found.text, (*wanted.params, *found.params))


def spread(query: AuditQuery, *, percent: float) -> Sample:
    """The entries that ``query`` selects in a number of the blocks in which its range is stored."""
    wanted, looked_at = filter_of(query.conditions), filter_of(query.range)
    text = _LOOKED_AT + wanted.is_true + _SPREAD + looked_at.clause + "\n),\n" + _WHOLE
    return Sample(text, (*wanted.params, percent, *looked_at.params))


def percent_of(query: AuditQuery, *, size: int) -> Effects[float]:
    """The part of its range's blocks that has about ``size`` entries, as the planner expects them."""
    looked_at = filter_of(query.range)
    [[[found]]] = yield Statement(_EXPLAIN + looked_at.clause, looked_at.params)
    names = [Identifier(scan["Schema"], scan["Relation Name"]).as_string() for scan in _scans(found["Plan"])]
    [[blocks]] = yield Statement(_BLOCKS, (names,))
    expected = max(1.0, float(found["Plan"]["Plan Rows"]))
    return min(100.0, 100.0 * size / expected, 100.0 * _MOST_BLOCKS / int(blocks))


def _scans(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The scans of a plan, which are of the partitions that the range has."""
    if "Relation Name" in plan:
        yield plan
    for part in plan.get("Plans", ()):
        yield from _scans(part)
