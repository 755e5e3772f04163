"""Entries to be counted: the newest of a range, or some of all its blocks; and which of them a query selects."""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.audit.log.entry import ORDER_BY
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.listing import filter_of
from svc_pg.database.pagination import Filter

# Only the entries of the range are looked at, in the order of an index, so that a rare value costs no more than a
# frequent one. Narrow rows, because they are kept until they are counted.
_LOOKED_AT: Final = """
with looked_at as materialized (
    select "timestamp", table_name, operation::text as operation, actor_id, tenant_id, label,
           severity::text as severity, compliance, """
_NEWEST: Final = """ as is_selected
      from (
        select * from svc.audit_logs"""
_LIMITED: Final = ORDER_BY["newest"] + " limit %s\n      ) audit_logs\n),\n"
_SPREAD: Final = """ as is_selected
      from svc.audit_logs tablesample system (%s) repeatable (1)"""
_WHOLE: Final = """whole as materialized (
    select count(*) as looked_at, count(*) filter (where is_selected) as selected, min("timestamp") as oldest,
           min("timestamp") filter (where is_selected) as first, max("timestamp") filter (where is_selected) as last
      from looked_at
)"""


@dataclass(frozen=True, slots=True)
class EntryCount:
    """The number of entries with a value; None stands for entries without one."""

    value: str | None
    entries: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a statement that makes ``looked_at``, whose rows count if ``is_selected``, and ``whole``."""

    text: LiteralString
    params: tuple[object, ...]


def newest(query: AuditQuery, *, size: int) -> Sample:
    """The entries that ``query`` selects among the newest ``size`` of its range."""
    wanted, looked_at = filter_of(query.conditions), filter_of(query.range)
    text = _LOOKED_AT + _condition(wanted) + _NEWEST + looked_at.clause + _LIMITED + _WHOLE
    return Sample(text, (*wanted.params, *looked_at.params, size))


def spread(query: AuditQuery, *, percent: float) -> Sample:
    """The entries that ``query`` selects in a number of the blocks in which its range is stored."""
    wanted, looked_at = filter_of(query.conditions), filter_of(query.range)
    text = _LOOKED_AT + _condition(wanted) + _SPREAD + looked_at.clause + "\n),\n" + _WHOLE
    return Sample(text, (*wanted.params, percent, *looked_at.params))


def _condition(wanted: Filter) -> LiteralString:
    if not wanted.conditions:
        return "true"
    return "(" + " and ".join(wanted.conditions) + ") is true"
