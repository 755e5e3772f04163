"""A page of entries by conditions that no index serves: of a stretch of the log, whose end is the next cursor.

The conditions stand outside of the stretch, so neither their statistics nor their absence can turn its plan.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, LiteralString, TypeVar, get_args

from svc_pg.audit.log.conditions import (
    Among,
    AtLeast,
    BeforeTransaction,
    Column,
    Condition,
    OfAnyDatabase,
    Since,
    SinceTransaction,
    Until,
)
from svc_pg.audit.log.entry import ORDER_BY
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Filter, Keyset
from svc_pg.database.query import Query
from svc_pg.database.statements import statement

MAX_ENTRIES: Final = 10_000
"""The entries that a page looks at."""

Row = TypeVar("Row")

_BY: Final[tuple[Column, ...]] = ("actor_id", "tenant_id", "table_name")
_INDEXES: Final = statement("queries/audit/usable_indexes.sql")
_TIMES: Final = "select first, last from svc.audit_transaction_times(%s, %s)"
_NUMBERED: Final = """, "svc is selected", "svc number"
  from (
    select audit_logs.*, """
_IN_ORDER: Final = """ as "svc is selected", row_number() over ("""
_LOG: Final = """) as "svc number"
      from (select * from svc.audit_logs"""
# A limit that the planner knows: for a parameter it would expect a tenth of the log
_LIMITED: Final = """ limit 10000) audit_logs
  ) audit_logs
 where "svc is selected" or "svc number" = 10000 limit %s"""


@dataclass(frozen=True, slots=True)
class _Index:
    name: str


@dataclass(frozen=True, slots=True)
class _Times:
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Seen(Generic[Row]):
    """An entry of a stretch: one that was selected, or the last."""

    row: Row
    is_selected: bool
    number: int


@dataclass(frozen=True, slots=True)
class Reach:
    """What bounds a stretch, or lets an index find its entries: times, values of a column, one transaction."""

    time: Filter
    by: Sequence[tuple[Column, str]]
    transactions: tuple[int, int] | None


def reach_of(conditions: Iterable[Condition], time: Filter) -> Reach | None:
    """The reach of a list with these conditions, ``time`` those on time; None if there are no others."""
    by: dict[Column, str] = {}
    since, before = [], []
    is_bounded = False
    for condition in conditions:
        match condition:
            case Since() | Until() | OfAnyDatabase():
                continue
            case Among(("actor_id" | "tenant_id" | "table_name") as column, [value], is_excluded=False):
                by.setdefault(column, bounded(value) if column == "actor_id" else value)
            case Among("severity", _, is_excluded=False) | AtLeast():
                time = time.where("severity is not null")  # which an index has
            case SinceTransaction(number):
                since.append(number)
            case BeforeTransaction(number):
                before.append(number)
        is_bounded = True
    if not is_bounded:
        return None
    is_one = bool(since and before) and min(before) - max(since) <= 1
    found = [(column, by[column]) for column in _BY if column in by]
    return Reach(time, found, (max(since), min(before)) if is_one else None)


def stretch(
    columns: LiteralString,
    keyset: Keyset[Row],
    wanted: Filter,
    reach: Reach,
    *,
    position: tuple[object, ...] | None,
    limit: int,
) -> Effects[Query[Seen[Row]]]:
    """The query of the wanted entries of the next stretch, at most ``limit``, and of its end if that is reached."""
    looked_at, order = reach.time, keyset.order
    served = {index.name for index in (yield Query(_INDEXES, ([*_BY],), _Index))} if reach.by else ()
    by = next((each for each in reach.by if each[0] in served), None)
    if by is not None:
        column, value = by
        # no equality, or the order could be that of time alone, of another index
        looked_at = looked_at.where(column + " >= %s", value).where(column + " <= %s", value)
        order = _ordered(column, order)
    if reach.transactions is not None:
        [times] = yield Query(_TIMES, reach.transactions, _Times)
        looked_at = looked_at.where('"timestamp" >= %s', times.first).where('"timestamp" <= %s', times.last)
    if position is not None:
        looked_at = looked_at.where(keyset.beyond, *position)
    selected: LiteralString = "(" + " and ".join(wanted.conditions) + ") is true" if wanted.conditions else "true"
    text = columns + _NUMBERED + selected + _IN_ORDER + order + _LOG + looked_at.clause + order + _LIMITED
    return Query(text, (*wanted.params, *looked_at.params, limit), _seen(keyset.row))


def _ordered(column: Column, order: LiteralString) -> LiteralString:
    names: dict[Column, LiteralString] = {name: name for name in get_args(Column)}
    if order == ORDER_BY["newest"]:
        return " order by audit_logs." + names[column] + " desc, audit_logs.timestamp desc, audit_logs.id desc"
    return " order by audit_logs." + names[column] + ", audit_logs.timestamp, audit_logs.id"


def _seen(row: Callable[..., Row]) -> Callable[..., Seen[Row]]:
    def read(**columns: Any) -> Seen[Row]:
        is_selected, number = columns.pop("svc is selected"), columns.pop("svc number")
        return Seen(row(**columns), is_selected, number)

    return read
