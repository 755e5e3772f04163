"""Read the entries of a record in the order of change, which follows from the images, not always from the ids."""

from typing import Final, LiteralString, TypeVar

from svc_pg.database.pagination import Filter, Keyset
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
    text = opening + _NEAR + near.clause + keyset.order + ending + also + _HISTORY
    text += columns + _PLACED + shown.clause + order + ending
    return Query(text, (*seen, *near.params, *limits, *shown.params, *limits), keyset.row)
