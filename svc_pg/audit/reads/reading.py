"""The way in which records are read, and the records that an answer has shown until it is recorded."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from json.encoder import encode_basestring_ascii
from typing import Any, Final, Literal

from svc_pg.audit.log.conditions import Among, Contains, HasFact, HasWords, Is
from svc_pg.audit.log.selection import Selection
from svc_pg.formats.json_writer import write_ascii

Through = Literal["page", "api", "python", "command", "export", "admin"]

Keys = Sequence[str | None]
Shown = Mapping[str, Keys]
"""The keys of the records shown, by their tables; None for one whose key was not read."""

MOST_KEYS: Final = 1_000
"""The keys of an entry; it counts the others."""
MOST_KEY_BYTES: Final = 1_000_000
"""The bytes of the keys of one answer, as JSON; those beyond are counted too, so that no key can make it unreadable."""
MOST_TABLES: Final = 1_000
"""The tables of one answer."""
MOST_QUESTION_BYTES: Final = 2_000
_MOST_VALUE: Final = 200
_MOST_NAMES: Final = 40
_SHOWING: Final = ("record_id", "before_data", "after_data", "description", "context")
_PERSONAL: Final = (Contains, HasFact, HasWords, Is)
_OF_NOBODY: Final = re.compile(r"(?:(?:-?[0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\n)*")
"""Numbers and UUIDs, each with an end of line."""


@dataclass(slots=True)
class Reading:
    """The records that one answer shows. ``tables`` has their keys, each once, by their tables, the first thousand."""

    through: Through
    question: Mapping[str, object]
    tables: dict[str, dict[str, None]] = field(default_factory=dict)
    keyless: dict[str, int] = field(default_factory=dict)
    exports: list[Selection] = field(default_factory=list)
    has_more_tables: bool = False

    def add(self, shown: Shown) -> None:
        """Add the records of a part of the answer."""
        for table, keys in shown.items():
            if table not in self.tables and len(self.tables) >= MOST_TABLES:
                self.has_more_tables = True
                continue
            known = self.tables.setdefault(table, {})
            for key in keys:
                if key is None:
                    self.keyless[table] = self.keyless.get(table, 0) + 1
                else:
                    known[key] = None

    def add_export(self, selection: Selection) -> None:
        """Add all records that a selection may have."""
        self.exports.append(selection)

    @property
    def is_empty(self) -> bool:
        """True if nothing was shown."""
        return not self.tables and not self.exports

    def documents(self, marked: Iterable[str]) -> list[dict[str, object]]:
        """The reads of these tables, as ``svc.audit_add_reads`` takes them."""
        found: list[dict[str, object]] = []
        question = bounded_question(self.question)
        left = MOST_KEY_BYTES
        for table in marked:
            if table in self.tables:
                records = len(self.tables[table]) + self.keyless.get(table, 0)
                keys: list[str] = []
                for key in islice(self.tables[table], MOST_KEYS):
                    left -= len(encode_basestring_ascii(key))
                    if left < 0:
                        break
                    keys.append(key)
                found.append(document(table, self.through, question, keys=keys, records=records))
            elif self.has_more_tables:  # it may be one of these
                found.append(document(table, self.through, question))
            if any(may_have(selection, table) for selection in self.exports):
                found.append(document(table, "export", question))
        return found


def document(
    table: str,
    through: Through,
    question: Mapping[str, object],
    *,
    keys: Sequence[str] = (),
    records: int | None = None,
) -> dict[str, object]:
    """The read of one table, as ``svc.audit_add_reads`` takes it."""
    told: dict[str, object] = {"table": table, "through": through, "question": question}
    if keys:
        told["keys"] = keys
    return told if records is None else {**told, "records": records}


def may_tell_of_somebody(documents: Iterable[Mapping[str, Any]]) -> bool:
    """True if a key is neither a number nor a UUID, so that entries have a hash in place of it, or several of them."""
    keys = "".join([f"{key}\n" for each in documents for key in each.get("keys", ())])
    return _OF_NOBODY.fullmatch(keys) is None


@dataclass(frozen=True, slots=True)
class _Way:
    through: Through
    question: Mapping[str, object]


_PYTHON: Final = _Way("python", {})
_way: ContextVar[_Way] = ContextVar("svc_pg_way_of_reading", default=_PYTHON)
_collecting: ContextVar[Reading | None] = ContextVar("svc_pg_reading", default=None)


@contextmanager
def reading_through(through: Through, **question: object) -> Iterator[None]:
    """Name the way in which the block reads records, and its question."""
    token = _way.set(_Way(through, question))
    try:
        yield
    finally:
        _way.reset(token)


@contextmanager
def collecting(through: Through, question: Mapping[str, object]) -> Iterator[Reading]:
    """Collect the records that the block reads: its caller records them, before it answers."""
    reading = Reading(through, question)
    token = _collecting.set(reading)
    try:
        yield reading
    finally:
        _collecting.reset(token)


def collected() -> Reading | None:
    """The reading that collects what this code reads, if there is one."""
    return _collecting.get()


def new_reading(question: Mapping[str, object] | None = None) -> Reading:
    """A reading of the way that this code was called in."""
    way = _way.get()
    return Reading(way.through, {**way.question, **(question or {})})


def of_entries(entries: Iterable[Any]) -> Shown:
    """The records that entries show. An entry may lack fields that were not asked for."""
    found: dict[str, list[str | None]] = {}
    for entry in entries:
        if any(hasattr(entry, name) for name in _SHOWING):
            found.setdefault(entry.table_name, []).append(getattr(entry, "record_id", None))
    return found


def may_have(selection: Selection, table: str) -> bool:
    """True if the tables that a selection names, or leaves out, allow for entries of this one."""
    return all(
        (table in each.values) != each.is_excluded
        for each in selection.conditions
        if isinstance(each, Among) and each.column == "table_name"
    )


def question_of(selection: Selection) -> Mapping[str, object]:
    """The conditions of a selection, without the values that may be those of a person."""
    found: dict[str, object] = {}
    for each in selection.conditions:
        name = type(each).__name__.lower()
        if isinstance(each, Among):
            found[("not " if each.is_excluded else "") + each.column] = [*each.values]
        elif isinstance(each, _PERSONAL):
            found[name] = "*"
        else:
            found[name] = str(each)
    return found


def bounded_question(question: Mapping[str, object]) -> dict[str, object]:
    """A question of at most 2000 bytes; one that is longer says that it was cut."""
    found: dict[str, object] = {}
    size = 2
    for name, value in [*question.items()][:_MOST_NAMES]:
        texts = [str(each)[:_MOST_VALUE] for each in value[:_MOST_NAMES]] if isinstance(value, list) else None
        shown = texts if texts is not None else str(value)[:_MOST_VALUE]
        size += len(write_ascii({name[:_MOST_VALUE]: shown}))
        if size > MOST_QUESTION_BYTES:
            return {**found, "cut": "true"}
        found[name[:_MOST_VALUE]] = shown
    return {**found, "cut": "true"} if len(question) > _MOST_NAMES else found
