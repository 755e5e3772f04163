"""The names that records have for people: the value of a column that names them, if a snapshot has it."""

from collections.abc import Mapping
from typing import Any, Final

from svc_pg.audit.log.entry import Entry, is_erased
from svc_pg.console.pages.audit.changes import readable
from svc_pg.console.pages.record_titles import RecordTitles

LONGEST: Final = 80


def name_of(entry: Entry, titles: RecordTitles) -> str | None:
    """The name of the record after the change, or before it if it is gone; None if no column names it."""
    found = naming(entry, titles)
    return None if found is None else found[1]


def naming(entry: Entry, titles: RecordTitles) -> tuple[str, str] | None:
    """The column that names the record, and its value."""
    if is_erased(entry):
        return None
    values = members(entry.after_data) or members(entry.before_data)
    hidden = set(entry.redacted_fields or [])
    for column in titles.columns_of(entry.table_name):
        value = values.get(column)
        if column not in hidden and isinstance(value, str | int) and not isinstance(value, bool):
            text = str(value).strip()
            if text and text != entry.record_id and len(text) <= LONGEST:
                return column, text
    return None


def members(snapshot: Any) -> Mapping[str, Any]:
    """The members of a snapshot; none if it has none, or cannot be read."""
    value = None if snapshot is None else readable(snapshot)
    return value if isinstance(value, dict) else {}
