"""A difference of the audit log as text for a terminal."""

from datetime import UTC, datetime
from typing import Final

from svc_pg.audit import Entry, FieldDiff, Snapshot, State, diff
from svc_pg.errors import QueryError

from .json_text import printable

ERASED: Final = "(erased)"
"""The text in place of a value that svc-pg erase took away."""
_TOO_DEEP: Final = "(nested too deeply to be compared)"
_LONGEST: Final = 60  # characters of a value in a line
_MOST_FIELDS: Final = 20  # in a line


def differences(changed: Entry | State) -> str:
    """All fields that differ in a line; of very many the first. If a snapshot cannot be compared, only their names."""
    try:
        texts = [field_text(field) for field in diff(changed).fields]
    except QueryError:
        texts = [f"{printable(name)}: {_TOO_DEEP}" for name in changed.changed_fields or ()] or [_TOO_DEEP]
    more = len(texts) - _MOST_FIELDS
    return ", ".join(texts[:_MOST_FIELDS]) + (f", and {more} more" if more > 0 else "")


def field_text(field: FieldDiff, *, is_erased: bool = False) -> str:
    """A field with its value before and after."""
    name = printable(field.field)
    if field.is_redacted:
        return f"{name}: {ERASED if is_erased else '(redacted)'}"
    if field.before is None:
        return f"{name}: {value_text(field.after)}"
    if field.after is None:
        return f"{name}: {value_text(field.before)} removed"
    return f"{name}: {value_text(field.before)} -> {value_text(field.after)}"


def value_text(value: Snapshot | None) -> str:
    """A value, shortened to fit into a line."""
    text = "null" if value is None else printable(value.text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def time_text(time: datetime) -> str:
    """A time in UTC, to the second."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
