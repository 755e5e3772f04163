"""A difference of the audit log as text for a terminal."""

from typing import Final

from svc_pg.audit import Entry, FieldDiff, RecordState, Snapshot, diff
from svc_pg.audit.log.value_texts import told
from svc_pg.errors import QueryError
from svc_pg.formats.look_alikes import alike, common_ends, is_mixed

from .json_text import printable

ERASED: Final = "(erased)"
"""The text in place of an erased value."""
NOT_KNOWN: Final = "(actor and time not known)"
"""The text in place of the actor of a change that a comparison with the table found."""
_TOO_DEEP: Final = "(nested too deeply to be compared)"
_LONGEST: Final = 60  # characters of a value in a line
_BEFORE: Final = 15  # characters before the first that differs, of values whose beginning is left out
_AFTER: Final = 20  # characters that a line has from the first that differs
_MOST_FIELDS: Final = 20  # in a line


def differences(changed: Entry | RecordState) -> str:
    """All differing fields in one line; of very many the first. If a snapshot cannot be compared, only their names."""
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
    note = _note(field.before, field.after)
    was, now = printable(field.before.text), printable(field.after.text)
    head = _left_out(was, now)
    return f"{name}: {_shown(was, head)} -> {_shown(now, head)}" + (f" ({note})" if note else "")


def _note(before: Snapshot, after: Snapshot) -> str:
    """How two values differ that mean the same or look the same; empty for any others."""
    try:
        meaning = "" if before.value is None or after.value is None else told(before.value, after.value)
    except (ValueError, RecursionError):  # Python reads no number of 5,000 digits, and no deep nesting
        meaning = ""
    return meaning or alike(before.text, after.text)


def value_text(value: Snapshot | None) -> str:
    """A value, shortened to fit into a line."""
    return "null" if value is None else _shown(printable(value.text), 0)


def _left_out(before: str, after: str) -> int:
    """The length of the common beginning to leave out of a line, so that it shows the first difference."""
    head, _ = common_ends(before, after)
    return 0 if head < _LONGEST - _AFTER or before == after else head - _BEFORE


def _shown(text: str, left_out: int) -> str:
    shown = "…" + text[left_out:] if left_out else text
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def who_text(changed: Entry | RecordState) -> str:
    """The actor or the user of the database; of a change that a comparison found, nobody is known."""
    return NOT_KNOWN if changed.is_found else actor_text(changed.actor_id, changed.db_user)


def actor_text(actor_id: str | None, db_user: str | None) -> str:
    """The actor, or else the user of the database, with a warning about a name that may imitate another."""
    name = printable(actor_id or (f"({db_user})" if db_user else "(nobody named)"))
    return f"{name} (letters of several scripts)" if is_mixed(actor_id or "") else name
