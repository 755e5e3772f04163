"""A selection of entries in PostgreSQL's words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final, LiteralString, Self

from svc_pg.audit.log.conditions import (
    Among,
    AtLeast,
    BeforeTransaction,
    Column,
    Condition,
    Contains,
    HasFact,
    HasWords,
    Is,
    Missable,
    OfAnyDatabase,
    OfOtherTransactions,
    Overlaps,
    Since,
    SinceTransaction,
    Until,
    Without,
)
from svc_pg.audit.log.entry import FIELDS, FROM, Entry, beyond_parameters, columns, keyset, row_of
from svc_pg.audit.log.selection import Search, Selection
from svc_pg.audit.read import search_conditions
from svc_pg.audit.read.bounded_ids import bounded_value
from svc_pg.audit.read.change_order import MAX_PLACES, OfRecord, by_change, of_record, tables_of
from svc_pg.audit.read.stretch import MAX_ENTRIES, Reach, of_stretch, reach_of
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, Listing, Page, Row, Seen
from svc_pg.database.performing import ByIndexes, Within
from svc_pg.database.query import Query

_TYPES: Final[dict[Column, LiteralString]] = {
    "operation": "svc.audit_operation",
    "severity": "svc.audit_severity",
}
_WITHOUT: Final[dict[Missable, LiteralString]] = {
    "actor": "actor_id is null",
    "tenant": "tenant_id is null",
    "record": "record_id is null",
    "label": "label is null",
    "severity": "severity is null",
    "compliance": "coalesce(compliance, '{}') operator(pg_catalog.=) '{}'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryListing(Listing[Row]):
    """A query of the log. ``range`` are the conditions on time, and one by which an index finds entries.

    The ``columns`` begin the select of the keyset. Entries of one ``record`` come in the order of change. With a
    ``reach``, a page is of the next 10,000 entries, or 1,000 of a record: it may be short, or empty, and have a next
    one all the same. If ``most`` is None, it is of all entries of the reach, and its end has no cursor.
    """

    columns: LiteralString
    range: Filter
    record: OfRecord | None
    searches: frozenset[Search]
    reach: Reach | None = None
    most: int | None = MAX_ENTRIES

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Row]]:
        """The effects of ``list`` or ``alist``."""
        tables = None if self.record is None else (yield from tables_of(self.record))
        if self.record is not None and tables is not None:
            query = self._by_change(self.record, tables)
            wanted: Any = query if max_bytes is None else Within(query, max_bytes)
        elif self.reach is not None:
            query = yield from of_stretch(
                self.columns,
                self._direction,
                self.filter,
                self.reach,
                position=self.position,
                limit=self.size + 1,
                most=self.most,
            )
            wanted = ByIndexes(query if max_bytes is None else Within(query, max_bytes))
        else:
            return (yield from Listing.page(self, max_bytes=max_bytes))
        rows, is_all = ((yield wanted), True) if max_bytes is None else (yield wanted)
        return self.page_of_seen(rows, is_cut=not is_all)

    def narrowed(self, wanted: Filter) -> Self:
        """The same list with other conditions too: ``wanted`` are all of them."""
        return replace(self, filter=wanted, record=self.record and replace(self.record, most=MAX_PLACES))

    def _by_change(self, record: OfRecord, tables: Sequence[str]) -> Query[Seen[Row]]:
        return by_change(
            self.columns,
            record,
            self.filter,
            self.keyset.row,
            tables=tables,
            is_newest=self._direction.order.endswith(" desc"),
            position=None if self.position is None else self.position[1:],
            limit=self.size + 1,
        )


def listing(selection: Selection) -> EntryListing[Entry]:
    """The query of a selection."""
    shown = columns(selection.fields)
    row = Entry if selection.fields == FIELDS else row_of(selection.fields)
    return EntryListing(
        keyset=keyset(selection.first, shown + FROM, row),
        filter=filter_of(selection.conditions),
        size=selection.size,
        position=None if selection.edge is None else beyond_parameters(*selection.edge),
        is_backward=selection.is_backward,
        columns=shown,
        range=filter_of(selection.range),
        record=of_record(selection.conditions),
        searches=selection.searches,
        reach=reach_of_selection(selection),
    )


def reach_of_selection(selection: Selection) -> Reach | None:
    """The conditions that bound what a page looks at; None if it needs no bound."""
    return reach_of(selection.conditions, times_of(selection))


def times_of(selection: Selection) -> Filter:
    """The conditions on time alone."""
    return filter_of(each for each in selection.conditions if isinstance(each, Since | Until))


def filter_of(conditions: Iterable[Condition]) -> Filter:
    """The conditions, and their parameters."""
    return reduce(_with, conditions, ALL)


def _with(found: Filter, condition: Condition) -> Filter:
    match condition:
        case Is(column, value):
            return found.where(column + " = %s", bounded_value(column, value))
        case Among(column, values, is_excluded):
            wanted = list(dict.fromkeys(bounded_value(column, value) for value in values))
            return found.where(*_among(column, wanted, is_excluded=is_excluded))
        case Overlaps(column, values, is_excluded):
            overlaps: LiteralString = column + " operator(pg_catalog.&&) %s::text[]"
            return found.where("not coalesce(" + overlaps + ", false)" if is_excluded else overlaps, [*values])
        case AtLeast(severity):
            return found.where("severity >= %s::svc.audit_severity", severity)
        case Without(value):
            return found.where(_WITHOUT[value])
        case Since(time):
            return found.compare('"timestamp" >=', time)
        case Until(time):
            return found.compare('"timestamp" <', time)
        case SinceTransaction(xact_id):
            return found.where("xact_id operator(pg_catalog.>=) %s", xact_id)
        case BeforeTransaction(xact_id):
            return found.where("xact_id operator(pg_catalog.<) %s", xact_id)
        case OfOtherTransactions(xact_ids):
            return found.where("xact_id <> all(%s::bigint[])", [*xact_ids])
        case Contains(text):
            return search_conditions.contains(found, text)
        case HasWords(words):
            return search_conditions.has_words(found, words)
        case HasFact(value):
            return search_conditions.has_fact(found, value)
        case OfAnyDatabase():
            return found


def _among(column: Column, values: list[str], *, is_excluded: bool) -> tuple[LiteralString, object]:
    cast_to = _TYPES.get(column, "text")
    if len(values) == 1 and not is_excluded:  # of one, PostgreSQL knows that an index has the order of time
        return column + " = %s::" + cast_to, values[0]
    is_among: LiteralString = column + " = any(%s::" + cast_to + "[])"
    return "(" + is_among + ") is not true" if is_excluded else is_among, values
