"""Read the entries of a record in the order of change, which follows from the images, not always from the ids."""

from datetime import UTC, datetime
from itertools import islice
from typing import Final, LiteralString, TypeVar

from svc_pg.database.pagination import ALL, Filter, Keyset
from svc_pg.database.query import Query

Row = TypeVar("Row")

# The entry of the cursor. Its whole transaction is looked at again, as is each that has entries on the page: their
# order is known only as a whole.
_SEEN: Final = """
with seen as materialized (
    select table_name, record_id, xact_id, "timestamp" from svc.audit_logs where "timestamp" = %s and id = %s
),
"""
_NEAR: Final = """near as (
    (select table_name, record_id, "timestamp" from svc.audit_logs"""
_OTHERS: Final = """not exists (
        select from seen s
         where s.xact_id = audit_logs.xact_id and s.table_name = audit_logs.table_name
           and s.record_id = audit_logs.record_id)"""
_HISTORY: Final = """),
history as materialized (
    select h.* from (
        select table_name, record_id, min("timestamp") as first, max("timestamp") as last
          from near group by table_name, record_id
    ) r cross join lateral svc.audit_history(r.table_name, r.record_id, r.first, r.last) h
)
"""
_AND_SEEN: Final = """
    union all
    select table_name, record_id, "timestamp" from seen
"""
# Found by their keys, one by one: from a filter on the record the planner would read all that is about it
_PLACED: Final = """
  from history
 cross join lateral (
    select * from svc.audit_logs l
     where l."timestamp" = history.entry_timestamp and l.id = history.entry_id
    offset 0
 ) audit_logs"""
# No equality alone, or the order could be that of another index, which would have all of the log
_IS_RECORD: Final = (frozenset({"table_name = %s::text", "table_name = %s"}), frozenset({"record_id = %s"}))
_AT_LEAST: Final = "(table_name, record_id) >= (%s, %s)"
_AT_MOST: Final = "(table_name, record_id) <= (%s, %s)"
_UP_TO: Final = '(table_name, record_id, "timestamp") <= (%s, %s, %s)'
_FROM: Final = '(table_name, record_id, "timestamp") >= (%s, %s, %s)'
_BY_RECORD: Final = ' order by table_name, record_id, "timestamp"'
_BY_RECORD_BACK: Final = ' order by table_name desc, record_id desc, "timestamp" desc'
_LATEST: Final = datetime.max.replace(tzinfo=UTC)  # not "infinity", which asyncpg takes for no time
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_PLACE: Final = "(history.place_timestamp, history.place_id)"
_SEEN_PLACE: Final = """(
    select coalesce(max(h.place_timestamp), %s), coalesce(max(h.place_id), %s) from history h
     where h.entry_timestamp = %s and h.entry_id = %s)"""


def by_change(
    columns: LiteralString,
    keyset: Keyset[Row],
    wanted: Filter,
    *,
    position: tuple[object, ...] | None = None,
    limit: int | None = None,
) -> Query[Row]:
    """These columns of the wanted entries, in the direction of ``keyset``; ``position`` is what it reads from a cursor.

    If all are of one record of a table, the index of records finds them, whatever the statistics say.

    Between transactions the order is that of the log. Of one transaction, an entry gets the place that is its own in
    the order of change, also if the filter leaves others out.
    """
    is_newest = keyset.order.endswith(" desc")
    order: LiteralString = " order by history.place_timestamp, history.place_id"
    comparison: LiteralString = " > "
    if is_newest:
        order = " order by history.place_timestamp desc, history.place_id desc"
        comparison = " < "
    ending: LiteralString = "" if limit is None else " limit %s"
    limits = () if limit is None else (limit,)
    near, shown = wanted, wanted
    seen: tuple[object, ...] = ()
    opening: LiteralString = "with "
    also: LiteralString = ")"
    if position is not None:
        seen = position[1:]
        near = wanted.where(keyset.beyond, *position).where(_OTHERS)
        shown = wanted.where(_PLACE + comparison + _SEEN_PLACE, *seen, *seen)
        opening, also = _SEEN, ")" + _AND_SEEN
    found: LiteralString = near.clause + keyset.order + ending
    others, record = _parted(near)
    if len(record) == len(_IS_RECORD):
        edge = position[0] if position is not None else _LATEST if is_newest else _EARLIEST
        near = others.where(_AT_LEAST, *record).where(_AT_MOST, *record)
        near = near.where(_UP_TO if is_newest else _FROM, *record, edge)
        found = near.clause + (_BY_RECORD_BACK if is_newest else _BY_RECORD)
        if limit is not None:
            found += " fetch first %s rows with ties"
    text = opening + _NEAR + found + also + _HISTORY
    text += columns + _PLACED + shown.clause + order + ending
    return Query(text, (*seen, *near.params, *limits, *shown.params, *limits), keyset.row)


def _parted(wanted: Filter) -> tuple[Filter, tuple[object, ...]]:
    """The other conditions than those on one table and one key, and the parameters of these."""
    others, record = ALL, list[tuple[int, str]]()
    params = iter(wanted.params)
    for condition in wanted.conditions:
        own = tuple(islice(params, condition.count("%s")))
        number = next((n for n, texts in enumerate(_IS_RECORD) if condition in texts), None)
        if number is None:
            others = others.where(condition, *own)
        else:
            record.append((number, str(own[0])))
    if len({number for number, _ in record}) < len(record):  # of two, there is none
        return wanted, ()
    return others, tuple(value for _, value in sorted(record))
