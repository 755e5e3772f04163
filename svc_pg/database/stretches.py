"""A page of a list by conditions that no index serves: of a stretch of it, whose end is the next cursor.

The conditions stand outside of the stretch, so neither their statistics nor their absence can turn its plan.
"""

from dataclasses import dataclass
from typing import Any, Final, LiteralString

from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, Listing, Page, Row, seen
from svc_pg.database.performing import ByIndexes, Within
from svc_pg.database.query import Query

MOST_ROWS: Final = 10_000
"""The rows that a page looks at."""

_TEXT: Final[LiteralString] = """{columns}, "svc is selected", "svc is end"
  from (
    select {name}.*, {selected} as "svc is selected", row_number() over ({order}) = {most} as "svc is end"
      from ({source}{order} limit {most}) {name}
  ) {name}
 where "svc is selected" or "svc is end"{order} limit %s"""
_PLAIN: Final[LiteralString] = "select * from {table} {name}{reach}"
_OF_EACH: Final[LiteralString] = """select {name}.* from {each} cross join lateral (
            select * from {table} {name}{reach}{order of each} limit {most}
          ) {name}"""


@dataclass(frozen=True, slots=True)
class Each:
    """A ``from`` item with rows for each of which an index has its own part of the list, in the ``order`` of that.

    ``condition`` tells the rows of a part, and a page looks at ``most`` rows of each.
    """

    text: LiteralString
    params: tuple[object, ...]
    condition: Filter
    order: LiteralString
    reverse_order: LiteralString
    most: int


@dataclass(frozen=True, slots=True)
class Lead:
    """The value of a column in whose index the rows are read, in the ``order`` of that or in ``reverse_order``."""

    column: LiteralString
    value: object
    order: LiteralString
    reverse_order: LiteralString

    @property
    def reach(self) -> Filter:
        """The rows with the value: by no equality, or the order could be that of another index."""
        return ALL.where(self.column + " >= %s", self.value).where(self.column + " <= %s", self.value)


@dataclass(frozen=True, slots=True)
class Stretched:
    """The ``columns`` of a list as they are selected, its table and the ``name`` by which conditions call this.

    ``reach`` are the conditions that an index serves, ``rest`` those that are looked at row by row. If it
    ``is_in_order``, an index has the rows of the reach in the order of the list.
    """

    columns: LiteralString
    table: LiteralString
    name: LiteralString
    reach: Filter = ALL
    rest: Filter = ALL
    is_in_order: bool = True
    by: Lead | None = None
    each: Each | None = None


def stretched_page(wanted: Listing[Row], stretch: Stretched, *, max_bytes: int | None = None) -> Effects[Page[Row]]:
    """The next page of a list, of its next 10,000 rows: it may be short, or empty, and have a next one all the same."""
    keyset = wanted.keyset.reverse if wanted.is_backward else wanted.keyset
    reach, order, each = stretch.reach, keyset.order, stretch.each
    if stretch.by is not None:
        reach = reach.joined(stretch.by.reach)
        order = stretch.by.reverse_order if wanted.is_backward else stretch.by.order
    if wanted.position is not None:
        reach = reach.where(keyset.beyond, *wanted.position)
    holes: dict[str, LiteralString] = {"source": _PLAIN}
    params: tuple[object, ...] = ()
    if each is not None:
        reach, params = reach.joined(each.condition), each.params
        own_order = each.reverse_order if wanted.is_backward else each.order
        holes = {"source": _OF_EACH, "each": each.text, "order of each": own_order}
    holes |= {
        "columns": "select " + stretch.columns,
        "selected": stretch.rest.is_true,
        "table": stretch.table,
        "reach": reach.clause,
        "order": order,
        # a limit that the planner knows: for a parameter it would expect a tenth of the table
        "most": str(MOST_ROWS if each is None else each.most),
        "name": stretch.name,
    }
    text = _TEXT
    for hole, part in holes.items():
        text = text.replace("{" + hole + "}", part)
    query = Query(text, (*stretch.rest.params, *params, *reach.params, wanted.size + 1), seen(keyset.row))
    effect: Any = query if max_bytes is None else Within(query, max_bytes)
    if stretch.is_in_order:
        effect = ByIndexes(effect)
    rows, is_all = ((yield effect), True) if max_bytes is None else (yield effect)
    return wanted.page_of_seen(rows, is_cut=not is_all)
