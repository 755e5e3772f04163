"""A page of entries by conditions that no index serves: of a stretch of the log, whose end is the next cursor.

The conditions stand outside of the stretch, so neither their statistics nor their absence can turn its plan.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, LiteralString, TypeVar, get_args

from svc_pg.audit.log.conditions import (
    Among,
    AtLeast,
    BeforeTransaction,
    Column,
    Condition,
    Is,
    OfAnyDatabase,
    Since,
    SinceTransaction,
    Until,
)
from svc_pg.audit.log.entry import ORDER_BY
from svc_pg.audit.read.bounded_ids import bounded, bounded_value
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, Keyset, Seen, seen
from svc_pg.database.query import Query
from svc_pg.database.statements import statement

MAX_ENTRIES: Final = 10_000
"""The entries that a page looks at."""
_MOST_RARE: Final = 2_000
"""The most entries of a table or record that is rare."""

Row = TypeVar("Row")

_BY: Final[tuple[Column, ...]] = ("actor_id", "tenant_id", "table_name")
_INDEXES: Final = statement("queries/audit/usable_indexes.sql")
_IS_RARE: Final = "select svc.audit_is_rare(%s, %s, %s) as is_rare"
_RARE: Final = "svc.audit_entries_of(%s, %s, %s) audit_logs"
TIMES: Final = "select first, last from svc.audit_transaction_times(%s, %s)"
_NUMBERED: Final = """, "svc is selected", "svc is end"
  from (
    select audit_logs.*, """
_IS_SELECTED: Final = """ as "svc is selected", """
_PLACE: Final = "row_number() over ("
_IS_END: Final = """ as "svc is end"
      from """
_OF_STRETCH: Final = """ audit_logs
  ) audit_logs
 where "svc is selected" or "svc is end" limit %s"""


@dataclass(frozen=True, slots=True)
class _Index:
    name: str


@dataclass(frozen=True, slots=True)
class Times:
    """The times of the first and the last entry of transactions; None if they have none."""

    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class _IsRare:
    is_rare: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """What bounds a stretch, or lets an index find its entries: times, values of a column, one transaction."""

    time: Filter
    by: Sequence[tuple[Column, str]] = ()
    record: str | None = None
    transactions: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """The next entries of a log, in the order of an index: a subquery without its name, and the order."""

    text: LiteralString
    params: tuple[object, ...]
    order: LiteralString


def reach_of(conditions: Iterable[Condition], time: Filter) -> Reach | None:
    """The reach of a list with these conditions, ``time`` those on time; None if there are no others."""
    by: dict[Column, str] = {}
    record: str | None = None
    since, before = [], []
    is_bounded = False
    for condition in conditions:
        match condition:
            case Since() | Until() | OfAnyDatabase():
                continue
            case Among(("actor_id" | "tenant_id" | "table_name") as column, [value], is_excluded=False):
                by.setdefault(column, bounded_value(column, value))
            case Among("severity", _, is_excluded=False) | AtLeast():
                time = time.where("severity is not null")  # which an index has
            case Is("record_id", key) | Among("record_id", [key], is_excluded=False):
                record = bounded(key)
            case SinceTransaction(number):
                since.append(number)
            case BeforeTransaction(number):
                before.append(number)
        is_bounded = True
    if not is_bounded:
        return None
    is_one = bool(since and before) and min(before) - max(since) <= 1
    found = [(column, by[column]) for column in _BY if column in by]
    return Reach(time, found, record if "table_name" in by else None, (max(since), min(before)) if is_one else None)


def timed(reach: Reach) -> Effects[Reach]:
    """The same reach, with the times of its transactions."""
    if reach.transactions is None:
        return reach
    times: Times
    [times] = yield Query(TIMES, reach.transactions, Times)
    between = reach.time.where('"timestamp" >= %s', times.first).where('"timestamp" <= %s', times.last)
    return replace(reach, time=between, transactions=None)


def stretch(
    reach: Reach, order: LiteralString, *, beyond: Filter = ALL, most: int | None = MAX_ENTRIES
) -> Effects[Stretch]:
    """The next stretch of the log in one of its two orders, of at most so many entries; of None, all of the reach."""
    reach = yield from timed(reach)
    looked_at = reach.time.joined(beyond)
    log: LiteralString = "svc.audit_logs"
    params: tuple[object, ...] = ()
    is_open = reach.by and reach.record is None
    served = {index.name for index in (yield Query(_INDEXES, ([*_BY],), _Index))} if is_open else ()
    by = next((each for each in reach.by if each[0] in served), None)
    if by is not None:
        column, value = by
        # no equality, or the order could be that of time alone, of another index
        looked_at = looked_at.where(column + " >= %s", value).where(column + " <= %s", value)
        order = _ordered(column, order)
    elif (table := dict(reach.by).get("table_name")) is not None:
        rare: _IsRare
        [rare] = yield Query(_IS_RARE, (table, reach.record, _MOST_RARE), _IsRare)
        if rare.is_rare:
            log, params = _RARE, (table, reach.record, 2 * _MOST_RARE)  # it may grow meanwhile
    end: LiteralString = " offset 0" if most is None else " limit " + _number(most)
    text: LiteralString = "(select * from " + log + looked_at.clause + order + end + ")"  # noqa: S608 - constants
    return Stretch(text, (*params, *looked_at.params), order)


def of_stretch(
    columns: LiteralString,
    keyset: Keyset[Row],
    wanted: Filter,
    reach: Reach,
    *,
    position: tuple[object, ...] | None,
    limit: int,
    most: int | None = MAX_ENTRIES,
) -> Effects[Query[Seen[Row]]]:
    """The query of the wanted entries of the next stretch, at most ``limit``, and of its end if that is reached.

    If ``most`` is None, the reach is the stretch, whose end the caller knows.
    """
    beyond = ALL if position is None else ALL.where(keyset.beyond, *position)
    found = yield from stretch(reach, keyset.order, beyond=beyond, most=most)
    is_end: LiteralString = "false" if most is None else _PLACE + found.order + ") = " + _number(most)
    text = columns + _NUMBERED + wanted.is_true + _IS_SELECTED + is_end + _IS_END + found.text + _OF_STRETCH
    return Query(text, (*wanted.params, *found.params, limit), seen(keyset.row))


def _number(number: int) -> LiteralString:
    """A limit that the planner knows: for a parameter it would expect a tenth of the log."""
    return str(number)


def _ordered(column: Column, order: LiteralString) -> LiteralString:
    names: dict[Column, LiteralString] = {name: name for name in get_args(Column)}
    if order == ORDER_BY["newest"]:
        return " order by audit_logs." + names[column] + " desc, audit_logs.timestamp desc, audit_logs.id desc"
    return " order by audit_logs." + names[column] + ", audit_logs.timestamp, audit_logs.id"
