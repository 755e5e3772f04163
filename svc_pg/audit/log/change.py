"""A change of a record as plain values, for a page of the application."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from svc_pg.audit.log.entry import Operation, is_of_comparison
from svc_pg.audit.log.value_texts import sides
from svc_pg.config.audited_table import Severity
from svc_pg.formats import human_times
from svc_pg.formats.look_alikes import MIXED, is_mixed
from svc_pg.formats.unseen import blanks, marked

MAX_FIELDS: Final = 20
MAX_CHARACTERS: Final = 200
"""The most characters of each text of a change."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of an update. A value is its text, cut after 200 characters; None is null, or not recorded.

    In the texts, marks stand for invisible characters and blanks, and quotes around a text that looks like a value of
    another type. ``note`` tells the difference between two values that look the same. If ``is_redacted``, the log has
    no value, or a disguised one.
    """

    name: str
    before: str | None
    after: str | None
    is_redacted: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a record.

    ``actor`` is the name that templates show: the actor's id, unless ``dataclasses.replace`` sets another. It is None
    if the application named no actor; then only ``db_user`` is known. ``fields`` are the first 20 that an update
    changed, and ``more_fields`` the number of others.
    """

    id: str
    timestamp: datetime
    age: timedelta
    operation: Operation
    actor: str | None
    actor_id: str | None
    db_user: str | None
    label: str | None
    severity: Severity | None
    description: str | None
    fields: Sequence[FieldChange]
    more_fields: int

    @property
    def is_found(self) -> bool:
        """True if a comparison with the table found the change, so that nobody knows its actor and time."""
        return is_of_comparison(self.operation, self.label)

    @property
    def who(self) -> str:
        """The actor, else the user of the database: the content of an element ``bdi``, which it cannot end."""
        if self.is_found:
            return "Somebody"
        return marked(self.actor or self.db_user or "somebody")

    @property
    def doubt(self) -> str:
        """A warning about an actor's name that looks like another, or an empty text."""
        return MIXED if is_mixed(self.actor or "") else ""

    @property
    def ago(self) -> str:
        """For example ``3 min ago``, by the database's clock."""
        return human_times.relative(self.timestamp, self.timestamp + self.age)

    @property
    def exact(self) -> str:
        """For example ``12 Mar 2026, 14:31:04 UTC``."""
        return human_times.exact(self.timestamp)

    @property
    def instant(self) -> str:
        """RFC 3339, for the attribute ``datetime`` of an element ``time``."""
        return human_times.instant(self.timestamp)


def cut(text: str | None) -> str | None:
    """A text as a change shows it: the content of an element ``bdi``, as ``Change.who``."""
    return None if text is None else marked(_cut(text))


def field_change(name: str, before: object, after: object, *, is_redacted: bool) -> FieldChange:
    """A field with its values: None, a text, or any value of JSON."""
    both = sides(before, after)
    shown = [None if text is None else _cut(text) for text in (both.before, both.after)]
    note = "" if is_redacted else both.note
    if not note and shown[0] is not None and shown[0] == shown[1]:
        note = f"They differ after the first {MAX_CHARACTERS} characters"
    was, now = (None if text is None else _spaced(text) for text in shown)
    return FieldChange(marked(_cut(name)), was, now, is_redacted, note)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "…"


def _spaced(text: str) -> str:
    return marked("".join(piece for _, piece in blanks(text)))
