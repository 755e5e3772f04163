"""The times in which records belonged to a record: what their entries say, not what tables have today."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from svc_pg.audit.related.naming import Naming, Place, Value

Key = tuple[str, str]
"""A table, and the key of a record."""

_DEEPEST: Final = 2


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of a record with the records that it referred to before and after; None if to none of these."""

    naming: Naming
    table: str
    reference: int
    before: Key | None
    after: Key | None


@dataclass(slots=True)
class Members:
    """The root, and the entries of the records that refer to it, each record's oldest first, and their transactions."""

    root: Key
    rows: dict[Key, list[Row]] = field(default_factory=lambda: defaultdict(list))
    transactions: dict[Key, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, rows: Iterable[Row]) -> None:
        """Add entries, in any order."""
        added = set[Key]()
        for row in rows:
            if row.naming.record_id is not None and (key := (row.table, row.naming.record_id)) != self.root:
                self.rows[key].append(row)
                self.transactions[key].add(row.naming.xact_id)
                added.add(key)
        for key in added:
            self.rows[key].sort(key=_place)

    def has(self, key: Key, place: Place, xact_id: str | None = None, *, depth: int = 0) -> bool:
        """True if a record belonged to the root at a place of the log, or at the end of a transaction that names it.

        Of a time before all entries that were found, the oldest of them tells by its image before.
        """
        if key == self.root:
            return True
        rows = self.rows.get(key)
        if not rows or depth > _DEEPEST:
            return False
        if xact_id in self.transactions[key]:
            return True
        if later := bisect_right(rows, place, key=_place):
            sides = [row.after for row in _of_one_place(rows[at] for at in range(later - 1, -1, -1))]
        else:
            sides = [_first(row) for row in _of_one_place(rows)]
        return any(side is not None and self.has(side, place, xact_id, depth=depth + 1) for side in sides)

    def belongs(self, row: Row) -> bool:
        """True if the change was one of a record that belonged to the root before it or after it."""
        place, xact_id = row.naming.place, row.naming.xact_id
        return any(side is not None and self.has(side, place, xact_id) for side in (row.before, row.after))


def _place(row: Row) -> Place:
    return row.naming.place


def _of_one_place(rows: Iterable[Row]) -> Iterator[Row]:
    """Those at the beginning that are at the place of the first one."""
    return next(groupby(rows, key=_place))[1]


def _first(row: Row) -> Key | None:
    """The record that was referred to before the entry: what a snapshot found was there before."""
    return row.after if row.naming.operation == "SNAPSHOT" and row.naming.before is None else row.before


def owners_of(
    namings: Sequence[tuple[Key, Naming]], columns: Sequence[str], *, most: int
) -> tuple[dict[Value, Key], bool]:
    """The records by the values that they had in the columns to which others refer, and if there are more of them."""
    found: dict[Value, Key] = {}
    for key, naming in namings:
        pairs = [naming.outward.get(column) for column in columns]
        for side in (1, 0):
            texts = [None if pair is None else pair[side] for pair in pairs]
            if None not in texts:
                value = tuple(text for text in texts if text is not None)
                if value not in found and len(found) == most:
                    return found, True
                found.setdefault(value, key)
    return found, False
