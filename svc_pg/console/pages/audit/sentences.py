"""A transaction for people: one sentence, and its changes with their values."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.audit.log.entry import Entry, Operation, is_disguised, is_erased
from svc_pg.audit.log.value_texts import sides
from svc_pg.console.built_in.transaction_pages import LoggedTransaction, weight
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.record_names import has_values, members, naming
from svc_pg.console.pages.differences.values import Value, alone
from svc_pg.console.pages.record_titles import RecordTitles

_LONGEST: Final = 40
_FIELDS: Final = 4
_FACTS: Final = 8
_IN_ROW: Final = 2
_NAMES: Final = 3
_UNTOLD: Final = ("_id", "_at")
"""The ends of columns that say little to people: keys of other records, and times, which the entry has."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
"""The beginning of a point in time, as snapshots have it."""
_OF_TABLES: Final = ("TRUNCATE", "DDL")
"""The operations that change no single record."""
_LOG: Final = "svc.audit_logs"


@dataclass(frozen=True, slots=True)
class Fact:
    """One field of a change, with its values in a few words; a side that is None had none."""

    entry: Entry
    field: str
    before: Value | None
    after: Value | None
    is_disguised: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one table that were changed in the same way."""

    operation: Operation
    table: str
    count: int

    @property
    def is_of_records(self) -> bool:
        """False if the operation changes no single record."""
        return self.operation not in _OF_TABLES


@dataclass(frozen=True, slots=True)
class Sentence:
    """The changes of a transaction: ``subject`` is its most telling change, or ``rows`` are all of one kind.

    ``facts`` are values that were changed; ``others`` are changes that they do not tell, and ``more`` the number of
    further fields of the subject.
    """

    transaction: LoggedTransaction
    subject: Entry
    actors: Sequence[Entry]
    rows: Rows | None
    facts: Sequence[Fact]
    others: Sequence[Rows]
    more: int
    labels: Sequence[str]

    @property
    def is_alone(self) -> bool:
        """True if the subject is the only change."""
        return self.transaction.count == 1

    @property
    def note(self) -> str:
        """The description of the subject if it says all; else empty."""
        return (self.subject.description or "") if is_note(self.subject) else ""


def sentence(transaction: LoggedTransaction, titles: RecordTitles) -> Sentence:
    """The transaction in a sentence."""
    entries = transaction.entries
    subject = max(entries, key=weight)  # the first, if several weigh the same
    rows = _all_alike(transaction)
    told = entries if rows else [subject, *(each for each in entries if each is not subject)]
    facts, more = _facts_of(told, titles, is_of_rows=rows is not None)
    named = {fact.entry.id for fact in facts} | {subject.id}
    return Sentence(
        transaction,
        subject,
        _actors(entries),
        rows,
        facts,
        [] if rows else _others(transaction, named),
        more,
        list(dict.fromkeys(text for each in entries if (text := each.label or each.description)))[:_NAMES],
    )


def facts_of_row(entry: Entry, titles: RecordTitles) -> tuple[Sequence[Fact], int]:
    """Values of one change for its row in a list, and the number of further fields that it changed."""
    names = _telling(entry, titles) if has_values(entry) else []
    more = len(names[_IN_ROW:]) if entry.operation == "UPDATE" else 0
    return _facts(entry, names[:_IN_ROW]), more


def _all_alike(transaction: LoggedTransaction) -> Rows | None:
    """The rows of the whole transaction, if they are several, of one table and of one operation."""
    [kind, *others] = transaction.changes
    if others or transaction.count == 1 or kind.operation in _OF_TABLES:
        return None
    return Rows(kind.operation, changes.short(kind.table_name), kind.count)


def _actors(entries: Sequence[Entry]) -> list[Entry]:
    """An entry of each actor."""
    return list({changes.who(entry): entry for entry in reversed(entries)}.values())[::-1]


def _others(transaction: LoggedTransaction, told: Collection[str]) -> list[Rows]:
    """The changes that no fact tells, by operation and table."""
    named = Counter((each.operation, each.table_name) for each in transaction.entries if each.id in told)
    left = [(each, each.count - named[each.operation, each.table_name]) for each in transaction.changes]
    return [Rows(each.operation, changes.short(each.table_name), count) for each, count in left if count > 0]


def _facts_of(entries: Sequence[Entry], titles: RecordTitles, *, is_of_rows: bool) -> tuple[list[Fact], int]:
    """Some facts of each change, most of the first; and the number of fields that the first has besides."""
    first, *others = entries
    names = _telling(first, titles)
    most = 1 if is_of_rows else _FIELDS
    found = _facts(first, names[:most])
    for entry in others:
        if entry.operation == "UPDATE" and len(found) < _FACTS:
            found.extend(_facts(entry, _telling(entry, titles)[:1]))
    is_update = first.operation == "UPDATE"
    return found, len(names[most:]) if is_update and not is_of_rows else 0


def _telling(entry: Entry, titles: RecordTitles) -> list[str]:
    """The fields of a change that are worth a place, those first that tell most."""
    if is_erased(entry) or entry.operation in _OF_TABLES or is_note(entry):
        return []
    if entry.changed_fields is not None:
        return sorted(entry.changed_fields, key=lambda name: name.endswith(_UNTOLD))
    named = naming(entry, titles)
    row = members(entry.after_data) or members(entry.before_data)
    return [
        name for name, value in row.items() if (named is None or named[0] != name) and _is_telling(entry, name, value)
    ]


def is_note(entry: Entry) -> bool:
    """True if the log tells of itself, with a description that says all: a purge, a comparison with a table."""
    return entry.table_name == _LOG and bool(entry.description)


def _facts(entry: Entry, names: Sequence[str]) -> list[Fact]:
    """These fields of a change with their values."""
    before, after = members(entry.before_data), members(entry.after_data)
    return [
        Fact(entry, name, *_pair(before.get(name), after.get(name)), is_disguised(name, entry.redacted_fields))
        for name in names
    ]


def _is_telling(entry: Entry, name: str, value: Any) -> bool:
    """True if a field of a new or deleted row is worth a place: short, not its key, no time."""
    if value is None or isinstance(value, dict | list) or name.endswith(_UNTOLD):
        return False
    text = str(value)
    return bool(text) and len(text) <= _LONGEST and text != entry.record_id and not _TIME.match(text)


def _pair(before: Any, after: Any) -> tuple[Value | None, Value | None]:
    both = sides(before, after)
    return _short(both.before), _short(both.after)


def _short(text: str | None) -> Value | None:
    return None if text is None else alone(text, longest=_LONGEST)
