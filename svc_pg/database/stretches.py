"""A page of a list by conditions that no index serves: of a stretch of it, whose end is the next cursor.

The conditions stand outside of the stretch, so neither their statistics nor their absence can turn its plan. A stretch
is what one index has between two of its entries, compared as rows, so that no other index fits and both ends bound it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, LiteralString, Protocol

from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, Listing, Page, PointInTime, Row, seen, time_or_age
from svc_pg.database.performing import ByIndexes, Within
from svc_pg.database.query import Query

MOST_ROWS: Final = 10_000
"""The rows that a page looks at."""

_TEXT: Final[LiteralString] = """select {columns}, "svc is selected", "svc is end"
  from (
    select {name}.*, {selected} as "svc is selected", {end} as "svc is end" from ({rows}) {name}
  ) {name}
 where "svc is selected" or "svc is end"{order} limit %s"""
_COUNT: Final[LiteralString] = """
select count(*) filter (where "svc is selected")::integer as count, coalesce(bool_or("svc is end"), false) as is_cut
  from ({selected}) c
"""
_COUNT_BY: Final[LiteralString] = """
select value, count(*) filter (where "svc is selected")::integer as count, bool_or("svc is end") as is_cut
  from ({selected}) c
 group by value
"""
_FEW: Final[LiteralString] = "(select * from {table} {name}{reach} offset 0)"
_FROM: Final[LiteralString] = "select * from {table} {name}{reach}{order} limit {most}"

_END: Final[dict[bool, LiteralString]] = {True: " desc", False: ""}

Expression = tuple[LiteralString, tuple[object, ...]]
"""An expression, and its parameters."""


Lead = tuple[LiteralString, LiteralString, tuple[object, ...]]
"""A column of an index before the ids in it, an expression for its one value, and the parameters of that."""


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids, or times, between bounds: at least, at most and less than expressions."""

    least: tuple[Expression, ...] = ()
    greatest: tuple[Expression, ...] = ()
    before: tuple[Expression, ...] = ()

    def since(self, bound: Expression) -> "Ids":
        """Those from a bound on."""
        return replace(self, least=(*self.least, bound))

    def until(self, bound: Expression) -> "Ids":
        """Those before a bound."""
        return replace(self, before=(*self.before, bound))

    def after(self, position: object, *, is_backward: bool) -> "Ids":
        """Those from a position on, itself included, in the direction in which the list is read."""
        bound: Expression = ("%s", (position,))
        if is_backward:
            return replace(self, least=(*self.least, bound))
        return replace(self, greatest=(*self.greatest, bound))

    def condition(self, name: LiteralString) -> Filter:
        """The condition on a column, of this name."""
        return Span(name, self).reach


ANY: Final = Ids()


@dataclass(frozen=True, slots=True)
class Span:
    """The entries of an index from one to another: of one value of each column before the ids, and the ids in it.

    If it ``is_mixed``, the index has the first column in ascending and the ids in descending order.
    """

    id: LiteralString
    ids: Ids = ANY
    leads: tuple[Lead, ...] = ()
    is_mixed: bool = False

    @property
    def reach(self) -> Filter:
        """The condition on its rows, whose ends bound what an index scan reads."""
        reach = ALL
        for number, (column, value, params) in enumerate(self.leads):
            # no plain equality of the first, or the order could be that of the ids alone, of another index
            text = " = %s" if number else " = any (array[%s])"
            reach = reach.where(column + text.replace("%s", value), *params)
        reach = reach.joined(_bound(self.id + " >= greatest(", self.ids.least))
        reach = reach.joined(_bound(self.id + " <= least(", (*self.ids.greatest, *self.ids.before)))
        for text, params in self.ids.before:
            reach = reach.where(self.id + " < " + text, *params)
        return reach

    def after(self, position: object, *, is_backward: bool) -> "Span":
        """That from a position on, itself included."""
        return replace(self, ids=self.ids.after(position, is_backward=is_backward))

    def order(self, *then: LiteralString, is_backward: bool) -> LiteralString:
        """The order of the index, and then by other columns; backwards the oldest first."""
        descending, of_leads = not is_backward, is_backward == self.is_mixed
        columns = [column + _END[of_leads] for column, _, _ in self.leads]
        return " order by " + ", ".join(columns + [each + _END[descending] for each in (self.id, *then)])


def _bound(comparison: LiteralString, bounds: Sequence[Expression]) -> Filter:
    if not bounds:
        return ALL
    texts = ", ".join([text for text, _ in bounds])
    return ALL.where(comparison + texts + ")", *[param for _, params in bounds for param in params])


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a stretch: a ``select`` in an order. If it ``has_last``, that names its end by ``svc is last``."""

    text: LiteralString
    params: tuple[object, ...]
    order: LiteralString
    has_last: bool = False


class Stretch(Protocol):
    """Finds the next rows of a list."""

    def rows(self, position: tuple[object, ...] | None, *, is_backward: bool, most: LiteralString) -> Rows:
        """The next rows after a position, ``most`` at most."""


@dataclass(frozen=True, slots=True)
class OfIndex:
    """The stretches of a table, which conditions call by the ``name``, in the order of a span."""

    table: LiteralString
    name: LiteralString
    span: Span
    others: Filter = ALL
    """Conditions that bound what is read themselves, or the predicate of the index."""
    then: tuple[LiteralString, ...] = ()
    """A column that orders rows with the same id of the span, and belongs to their position."""
    few: Filter = ALL
    """Conditions on few rows, of whatever index: these are all read, and those that meet the ``others`` ordered."""

    def rows(self, position: tuple[object, ...] | None, *, is_backward: bool, most: LiteralString) -> Rows:
        """The next rows after a position, which is an id, with the value of the column that orders equal ones."""
        span, reach = self.span, self.others
        if position is not None:
            span = span.after(position[0], is_backward=is_backward)
            reach = reach.joined(beyond((span.id, *self.then), position, is_backward=is_backward))
        reach, order = reach.joined(span.reach), span.order(*self.then, is_backward=is_backward)
        table, few = self.table, self.few
        if few.conditions:
            table = filled(_FEW, table=table, name=self.name, reach=few.clause)
        text = filled(_FROM, table=table, name=self.name, reach=reach.clause, order=order, most=most)
        return Rows(text, (*few.params, *reach.params), order)


@dataclass(frozen=True, slots=True)
class Stretched:
    """The ``columns`` of a list as they are selected, the ``name`` by which conditions call its rows, and a stretch.

    ``rest`` are the conditions that are looked at row by row. If it ``is_in_order``, an index has the rows in the order
    of the stretch.
    """

    columns: LiteralString
    name: LiteralString
    stretch: Stretch
    rest: Filter = ALL
    is_in_order: bool = True


@dataclass(frozen=True, slots=True)
class Counted:
    """The rows of a stretch that were selected, and if others may follow."""

    count: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class CountedBy:
    """The numbers of the rows of a stretch by a value, and if others may follow."""

    counts: Mapping[str, int]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Value:
    value: str
    count: int
    is_cut: bool


def stretched_page(wanted: Listing[Row], of: Stretched, *, max_bytes: int | None = None) -> Effects[Page[Row]]:
    """The next page of a list, of its next 10,000 rows: it may be short, or empty, and have a next one all the same."""
    text, params = _statement(of, of.columns, position=wanted.position, is_backward=wanted.is_backward, most=MOST_ROWS)
    query = Query(text, (*params, wanted.size + 1), seen(wanted.keyset.row))
    effect: Any = query if max_bytes is None else Within(query, max_bytes)
    if of.is_in_order:
        effect = ByIndexes(effect)
    found, is_all = ((yield effect), True) if max_bytes is None else (yield effect)
    return wanted.page_of_seen(found, is_cut=not is_all)


def stretched_count(of: Stretched, *, most: int, looked_at: int) -> Effects[Counted]:
    """The number of the rows of a list, up to ``most``, among the first so many that are ``looked_at``."""
    text, params = _statement(of, "1", position=None, is_backward=False, most=looked_at)
    query = Query(_COUNT.replace("{selected}", text), (*params, most + 1), Counted)
    [counted] = yield ByIndexes(query) if of.is_in_order else query
    return Counted(min(counted.count, most), counted.is_cut or counted.count > most)


def stretched_counts(of: Stretched, by: LiteralString, *, looked_at: int) -> Effects[CountedBy]:
    """The numbers of the rows of a list by their values of a column, among the first that are ``looked_at``."""
    text, params = _statement(of, by + " as value", position=None, is_backward=False, most=looked_at)
    query = Query(_COUNT_BY.replace("{selected}", text), (*params, looked_at), _Value)
    values: Sequence[_Value] = yield ByIndexes(query) if of.is_in_order else query
    return CountedBy({each.value: each.count for each in values}, any(each.is_cut for each in values))


def _statement(
    of: Stretched, columns: LiteralString, *, position: tuple[object, ...] | None, is_backward: bool, most: int
) -> tuple[LiteralString, tuple[object, ...]]:
    """The statement that reads the next stretch; its last parameter, the number of rows, is not among these."""
    limit: LiteralString = str(most)  # that the planner knows: for a parameter it would expect a tenth of the table
    rows = of.stretch.rows(position, is_backward=is_backward, most=limit)
    end: LiteralString = "row_number() over (" + rows.order + ") = " + limit
    text = filled(
        _TEXT,
        columns=columns,
        selected=of.rest.is_true,
        end="(" + end + ' or "svc is last" is true)' if rows.has_last else end,
        rows=rows.text,
        order=rows.order,
        name=of.name,
    )
    return text, (*of.rest.params, *rows.params)


def time_of(point_in_time: PointInTime) -> Expression:
    """An expression for a point in time. Raises QueryError."""
    time = time_or_age(point_in_time)
    before_now: LiteralString = "now() - %s" if isinstance(time, timedelta) else "%s"
    return before_now, (time,)


def beyond(columns: Sequence[LiteralString], position: Sequence[object], *, is_backward: bool) -> Filter:
    """The condition on the rows after a position in the direction in which the list is read."""
    comparison: LiteralString = ") > (" if is_backward else ") < ("
    return ALL.where("(" + ", ".join(columns) + comparison + ", ".join(["%s" for _ in position]) + ")", *position)


def filled(text: LiteralString, **holes: LiteralString) -> LiteralString:
    """The text with its holes ``{name}`` filled, in their order: a part may have holes that come after it."""
    for hole, part in holes.items():
        text = text.replace("{" + hole + "}", part)
    return text
