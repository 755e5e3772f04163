"""The last changes of a record, each made of an entry that is read alone: snapshots may be large."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from svc_pg.audit.log.change import MAX_FIELDS, Change, cut, field_change
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.portable.entries import default_schema_of, one, page
from svc_pg.audit.portable.keys import time_of
from svc_pg.audit.portable.phrases import SQLITE, Phrases, names_default_schema
from svc_pg.audit.portable.statements import Statement, Steps
from svc_pg.database.table_names import TableName

_PAGE_BYTES = 4 * 1024 * 1024
_IN_SQLITE: Final = "select 1 from sqlite_schema where type in ('table', 'view') and lower(name) = lower(%s)"
_IN_MYSQL: Final = "select 1 from information_schema.tables where table_schema = %s and table_name = %s"


def changes_of(phrases: Phrases, of_record: Selection, limit: int) -> Steps[list[Change]]:
    """The last changes of one record, newest first."""
    [[now]] = yield Statement("select " + phrases.now)
    found: list[Change] = []
    while True:
        shown = yield from page(phrases, of_record.limit(limit - len(found)), max_bytes=_PAGE_BYTES)
        found += [_change(entry, time_of(now)) for entry in shown]
        if shown.next_cursor is None or len(found) >= limit:
            return found
        of_record = of_record.after(shown.next_cursor)


def is_known(phrases: Phrases, of_table: Selection, table: str) -> Steps[bool]:
    """True if the table exists, or has entries."""
    is_here = names_default_schema(of_table.conditions)
    schema = (yield from default_schema_of(phrases)) if is_here else "main"
    name = TableName.parse(table).within(schema)
    params = (name.table,) if phrases is SQLITE else (name.schema, name.table)
    if (yield Statement(_IN_SQLITE if phrases is SQLITE else _IN_MYSQL, params)):
        return True
    return bool((yield from page(phrases, of_table.limit(1))).data)


def change_of_entry(phrases: Phrases, entry_id: int) -> Steps[Change | None]:
    """One entry as a change, if there is one with this id."""
    [[now]] = yield Statement("select " + phrases.now)
    entry = yield from one(phrases, entry_id)
    return None if entry is None else _change(entry, time_of(now))


def _change(entry: Entry, now: datetime) -> Change:
    changed = entry.changed_fields or []
    before, after = _members(entry.before_data), _members(entry.after_data)
    redacted = set(entry.redacted_fields or [])
    return Change(
        id=entry.id,
        timestamp=entry.timestamp,
        age=max(timedelta(), now - entry.timestamp),
        operation=entry.operation,
        actor=entry.actor_id,
        actor_id=entry.actor_id,
        db_user=entry.db_user,
        label=cut(entry.label),
        severity=entry.severity,
        description=cut(entry.description),
        fields=[
            field_change(name, before.get(name), after.get(name), is_redacted=bool(redacted & {name, "*"}))
            for name in changed[:MAX_FIELDS]
        ],
        more_fields=max(0, len(changed) - MAX_FIELDS),
    )


def _members(snapshot: Any) -> Mapping[str, Any]:
    try:
        value = {} if snapshot is None else snapshot.value
    except (ValueError, RecursionError):  # Python reads no number of 5,000 digits, and no deep nesting
        return {}
    return value if isinstance(value, dict) else {}
