"""Find the entries of a record and of the rows that refer to it, in one step or two, each statement within bounds."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from svc_pg.audit.log.conditions import Condition
from svc_pg.audit.related.membership import Key, Members, Row, owners_of
from svc_pg.audit.related.naming import MOST_COLUMNS, MOST_VALUES, Look, Looked, Naming, Place, Value, naming, of_record
from svc_pg.audit.related.references import Reference, references_to
from svc_pg.database.effects import Effects
from svc_pg.database.storable_texts import is_storable
from svc_pg.database.table_names import TableName

DEFAULT_STEPS: Final = 2
MOST_TABLES: Final = 8
"""The foreign keys of each step whose entries are looked at."""
MOST_LOOKED_AT: Final = 5_000
"""The entries that each step looks at if no index finds those of a value."""
LEAST_LOOKED_AT: Final = 1_000
"""Those of one table, however many tables the step has."""


@dataclass(frozen=True, slots=True)
class Search:
    """A record, the steps, the conditions on entries, and the place before which they are."""

    table: str
    record: str
    steps: int
    conditions: tuple[Condition, ...]
    before: Place | None

    @property
    def root(self) -> Key:
        """The record."""
        return self.table, self.record


@dataclass(frozen=True, slots=True)
class Searched:
    """A foreign key, and how far its entries were looked at; None if they were not."""

    reference: Reference
    looked: Looked | None
    has_more: bool = False


@dataclass(slots=True)
class Found:
    """All that was found: ``changes`` are the entries that belong, each once, the newest first."""

    wanted: Search
    own: Looked
    tables: list[Searched] = field(default_factory=list)
    members: Members = field(default_factory=lambda: Members(("", "")))
    changes: list[tuple[Row, int]] = field(default_factory=list)

    @property
    def is_known(self) -> bool:
        """True if anything was found, or the answer goes on from a cursor."""
        return bool(self.changes) or self.wanted.before is not None

    def end(self) -> Place | None:
        """The newest place up to which a table was looked at and not further; None if all were to their ends."""
        looked = [self.own, *(each.looked for each in self.tables if each.looked is not None)]
        places = [each.back_to for each in looked if not each.is_whole and each.back_to is not None]
        return max(places, default=None)


def search(table: TableName, wanted: Search) -> Effects[Found]:
    """The entries that belong to a record."""
    references = yield from references_to(table)
    references = [each for each in references if each.step <= wanted.steps]
    outward = _outward(references, wanted.table, 1)
    own = yield from of_record(_look(wanted, wanted.table, (), (), outward), wanted.record)
    found = Found(wanted, own, members=Members(wanted.root))
    found.changes = [(Row(each, wanted.table, -1, wanted.root, wanted.root), 0) for each in own.found]
    namings = [(wanted.root, each) for each in own.found]
    for step in range(1, wanted.steps + 1):
        rows = yield from _step(found, [each for each in references if each.step == step], namings, references)
        found.members.add(rows)
        belonging = [row for row in rows if found.members.belongs(row)]
        found.changes += [(row, step) for row in belonging]
        namings = [
            ((row.table, row.naming.record_id), row.naming)
            for row in sorted(belonging, key=lambda row: row.naming.place, reverse=True)
            if row.naming.record_id is not None
        ]
    found.changes = list(_each_once(found.changes))
    return found


def _step(
    found: Found, references: Sequence[Reference], namings: Sequence[tuple[Key, Naming]], every: Sequence[Reference]
) -> Effects[list[Row]]:
    """Look at the tables of one step; the entries that name a record of the step before."""
    audited = [each for each in references if each.is_audited and len(each.columns) <= MOST_COLUMNS][:MOST_TABLES]
    rows: list[Row] = []
    for reference in references:
        if not any(each is reference for each in audited):
            found.tables.append(Searched(reference, None))
            continue
        owners, has_more = _owners(found.wanted, reference, namings)
        if not owners:
            found.tables.append(Searched(reference, None))
            continue
        outward = _outward(every, reference.referring, reference.step + 1)
        most = max(LEAST_LOOKED_AT, MOST_LOOKED_AT // len(audited))
        look = _look(found.wanted, reference.referring, reference.columns, [*owners], outward, most)
        looked = yield from naming(look)
        number = len(found.tables)
        found.tables.append(Searched(reference, looked, has_more))
        rows += [_row(each, reference, number, owners) for each in looked.found]
    return sorted(rows, key=lambda row: row.naming.place, reverse=True)


def _row(found: Naming, reference: Reference, number: int, owners: dict[Value, Key]) -> Row:
    before = None if found.before is None else owners.get(found.before)
    after = None if found.after is None else owners.get(found.after)
    return Row(found, reference.referring, number, before, after)


def _owners(
    wanted: Search, reference: Reference, namings: Sequence[tuple[Key, Naming]]
) -> tuple[dict[Value, Key], bool]:
    """The records of the step before by the values to which the reference refers."""
    of_table = [each for each in namings if each[0][0] == reference.referred]
    owners, has_more = owners_of(of_table, reference.referred_columns, most=MOST_VALUES)
    if not owners and reference.is_to_key:  # nothing is known but the key: no change yet, or its values were erased
        keys = [key for key, _ in of_table] or [wanted.root] * (reference.step == 1)
        values = [(_of_key(key[1], len(reference.referred_columns)), key) for key in keys[:MOST_VALUES]]
        owners = {value: key for value, key in values if value is not None}
    return owners, has_more


def _of_key(record: str, columns: int) -> Value | None:
    """The texts of the columns of a key."""
    if columns == 1:
        return (record,)
    try:
        parts = json.loads(record, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    is_key = (
        isinstance(parts, list)
        and len(parts) == columns
        and all(isinstance(part, str) and is_storable(part) for part in parts)
    )
    return tuple(parts) if is_key else None


def _look(
    wanted: Search,
    table: str,
    columns: Sequence[str],
    values: Sequence[Value],
    outward: Sequence[str],
    most: int = MOST_LOOKED_AT,
) -> Look:
    return Look(table, columns, values, outward, wanted.conditions, wanted.before, most)


def _outward(references: Iterable[Reference], table: str, step: int) -> list[str]:
    """The columns of a table to which those of the next step refer."""
    referring = [each for each in references if each.step == step and each.referred == table]
    return list(dict.fromkeys(name for each in referring for name in each.referred_columns))


def _each_once(changes: Iterable[tuple[Row, int]]) -> Iterator[tuple[Row, int]]:
    """Each entry once, the newest first, with all that it referred to: two columns of a row may refer to one record."""
    found: dict[int, tuple[Row, int]] = {}
    for row, step in sorted(changes, key=lambda each: (each[0].naming.place, -each[1]), reverse=True):
        entry_id = row.naming.place[1]
        if entry_id in found:
            other, nearest = found[entry_id]
            row = replace(other, before=other.before or row.before, after=other.after or row.after)
            found[entry_id] = row, nearest
        else:
            found[entry_id] = row, step
    yield from found.values()
