"""Entries of the audit log for people: a sentence, an icon, and the fields that changed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never

from svc_pg.audit.certificates import ERASED
from svc_pg.audit.log.entry import Entry, Operation, is_disguised, is_erased, is_found
from svc_pg.console.pages.differences.difference import Difference, difference, value_of
from svc_pg.console.pages.differences.values import Value, alone
from svc_pg.console.pages.differences.work import Work
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.record_titles import KINDS
from svc_pg.formats import look_alikes

LIST: Final = (
    "operation,recordId,actorId,dbUser,changedFields,label,severity,description,redactedFields,xactId,tenantId,"
    "partition"
)
"""The fields of an entry that a line about it needs."""
WITH_VALUES: Final = f"{LIST},beforeData,afterData"
"""The same with the snapshots, from which a row has the name of its record and its values."""

_NAMED: Final = 2
_TITLE: Final = 200
_FACT: Final = 100


@dataclass(frozen=True, slots=True)
class OperationWords:
    """The words and the icon of an operation."""

    word: str
    icon: str
    tone: str
    verb: str


OPERATIONS: Final[dict[Operation, OperationWords]] = {
    "INSERT": OperationWords("Created", "plus", "ok", "created"),
    "UPDATE": OperationWords("Changed", "edit", "", "changed"),
    "DELETE": OperationWords("Deleted", "minus", "bad", "deleted"),
    "TRUNCATE": OperationWords("Emptied", "minus", "bad", "emptied"),
    "SNAPSHOT": OperationWords("Recorded", "copy", "", "recorded as it was"),
    "GONE": OperationWords("Found gone", "minus", "bad", "no longer found"),
    "DDL": OperationWords("Altered", "edit", "bad", "altered"),
    "READ": OperationWords("Read", "search", "", "read"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a change. A side that is None had no value; ``is_disguised`` values are not the real ones.

    ``absent`` is the side, before or after, that did not even have the field where the other has no value.
    """

    name: str
    difference: Difference
    is_changed: bool
    is_disguised: bool
    absent: str = ""

    @property
    def after(self) -> Value | None:
        """The value after."""
        return self.difference.after


def title(entry: Entry) -> str:
    """A change in a few words: the label or the description that a rule gave, or the fields that changed."""
    text = entry.label or entry.description or f"{OPERATIONS[entry.operation].word} {_fields(entry)}"
    return text if len(text) <= _TITLE else text[:_TITLE] + "…"


def row_title(entry: Entry, *, has_values: bool) -> str:
    """The title in a row that names the record, and perhaps values, beside it."""
    if entry.label or entry.description:
        return title(entry)
    match entry.operation:
        case "UPDATE":
            return OPERATIONS["UPDATE"].word if has_values else title(entry)
        case "INSERT" | "DELETE" | "SNAPSHOT" | "GONE" | "READ":
            return OPERATIONS[entry.operation].word
        case "TRUNCATE" | "DDL":
            return title(entry)
        case _:
            assert_never(entry.operation)


def _fields(entry: Entry) -> str:
    match entry.operation:
        case "UPDATE":
            return field_names(entry.changed_fields or [])
        case "TRUNCATE":
            return short(entry.partition or entry.table_name)
        case "INSERT" | "DELETE" | "SNAPSHOT" | "GONE" | "DDL" | "READ":
            return short(entry.table_name)
        case _:
            assert_never(entry.operation)


def field_names(names: Sequence[str]) -> str:
    """Some names and the number of the others: ``email, name and 3 more``."""
    if not names:
        return "nothing that can be seen"
    first = ", ".join(names[:_NAMED])
    return first if len(names) <= _NAMED else f"{first} and {len(names) - _NAMED} more"


def short(table: str) -> str:
    """The name of a table, without the schema ``public``; of one of ours, the word for its rows."""
    return KINDS.get(table) or table.removeprefix("public.")


def who(entry: Entry) -> str:
    """The actor, or, if the application set none, the user of the database; of a change that was found, nobody."""
    if is_found(entry):
        return "a comparison with the table"
    return entry.actor_id if entry.actor_id is not None else entry.db_user or "nobody named"


def twins(entries: Iterable[Entry], others: Iterable[str | None] = ()) -> frozenset[str]:
    """The actors of a list, and others beside it, that look like another one there."""
    return look_alikes.twins({*map(who, entries), *(name for name in others if name is not None)})


def fields(entry: Entry, work: Work) -> list[Field]:
    """All fields of the snapshots: those that changed first, in the order of the columns."""
    before, after = ({}, {}) if is_erased(entry) else (_members(entry.before_data), _members(entry.after_data))
    redacted = set(entry.redacted_fields or [])
    changed = set(entry.changed_fields or [])
    names = list(dict.fromkeys([*after, *before, *sorted(changed), *sorted(redacted - {"*"})]))
    has_sides = entry.before_data is not None and entry.after_data is not None
    found = []
    for name in names:
        is_hidden = is_disguised(name, redacted)
        is_changed = name in changed if has_sides else name in before or name in after
        if has_sides and is_changed:
            shown = difference(before.get(name), after.get(name), work, is_disguised=is_hidden)
        else:
            was, now = (value_of(side.get(name), is_disguised=is_hidden) for side in (before, after))
            shown = Difference(was, now)
        found.append(Field(name, shown, is_changed, is_hidden, _absent(name, before, after) if has_sides else ""))
    return sorted(found, key=lambda field: not field.is_changed)


def _absent(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if before.get(name) is not None or after.get(name) is not None or (name in before) == (name in after):
        return ""
    return "after" if name in before else "before"


def state(entry: Entry) -> list[Field]:
    """The fields of the record after the change, each in a few words."""
    after, redacted = {} if is_erased(entry) else _members(entry.after_data), set(entry.redacted_fields or [])
    names = list(dict.fromkeys([*after, *sorted(redacted - {"*"})]))
    found = []
    for name in names:
        is_hidden = is_disguised(name, redacted)
        value = value_of(after.get(name), longest=_FACT, is_disguised=is_hidden)
        found.append(Field(name, Difference(None, value), is_changed=False, is_disguised=is_hidden))
    return found


def _members(snapshot: Any) -> dict[str, Any]:
    """The members of a snapshot or None; any other JSON, as ``capture_log`` takes, is one without a name."""
    if snapshot is None:
        return {}
    value = readable(snapshot)
    return value if isinstance(value, dict) else {"": value}


def is_erasure(entry: Entry) -> bool:
    """True if the entry tells of an erasure."""
    return entry.table_name == "svc.audit_logs" and entry.label == ERASED


def readable(snapshot: Any) -> Any:
    """The value of a snapshot, or its text if Python cannot read it: a number of 5,000 digits, a deep nesting."""
    try:
        return snapshot.value
    except (ValueError, RecursionError):
        return str(snapshot)


def context(entry: Entry) -> list[tuple[str, Value]]:
    """The facts that the application gave about the request."""
    return [(name, value_of(value) or alone("null")) for name, value in _members(entry.context).items()]


def can_be_reverted(request: PageRequest, entries: Iterable[Entry]) -> bool:
    """True if this person may ask for the SQL that takes the entries back, and a trigger of a table wrote one."""
    return request.sees_whole_log and any(_is_captured(entry) for entry in entries)


def _is_captured(entry: Entry) -> bool:
    is_change = entry.operation in ("INSERT", "UPDATE", "DELETE") and entry.record_id is not None
    return is_change and not entry.table_name.startswith("svc.")


def day(time: datetime, now: datetime) -> str:
    """The heading above the changes of one day."""
    if time.date() == now.date():
        return "Today"
    return f"{time.day} {time:%B}" if time.year == now.year else f"{time.day} {time:%B %Y}"
