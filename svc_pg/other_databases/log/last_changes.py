"""The last changes of a record; each entry is read alone, because snapshots may be large."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from svc_pg.audit.log.change import MAX_FIELDS, Change, cut, field_change
from svc_pg.audit.log.entry import Entry, is_disguised
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read.audit_query import query
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.log.entries import default_schema_of, one, page
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import SQLITE, LogDialect, names_default_schema

_PAGE_BYTES = 4 * 1024 * 1024
_IN_SQLITE: Final = "select 1 from sqlite_schema where type in ('table', 'view') and lower(name) = lower(%s)"
_IN_MYSQL: Final = "select 1 from information_schema.tables where table_schema = %s and table_name = %s"


def changes_of(dialect: LogDialect, table: TableName, record: str, limit: int) -> Effects[list[Change]]:
    """The last changes of one record, newest first."""
    of_record: Selection = query().resource(str(table)).record(record)
    [[now]] = yield Statement("select " + dialect.now)
    found: list[Change] = []
    while True:
        shown = yield from page(dialect, of_record.limit(limit - len(found)), max_bytes=_PAGE_BYTES)
        found += [_change(entry, time_of(now)) for entry in shown]
        if shown.next_cursor is None or len(found) >= limit:
            return found
        of_record = of_record.after(shown.next_cursor)


def is_known(dialect: LogDialect, table: TableName) -> Effects[bool]:
    """True if the table exists, or has entries."""
    of_table: Selection = query().resource(str(table))
    schema = (yield from default_schema_of(dialect)) if names_default_schema(of_table.conditions) else "main"
    name = table.within(schema)
    params = (name.table,) if dialect is SQLITE else (name.schema, name.table)
    if (yield Statement(_IN_SQLITE if dialect is SQLITE else _IN_MYSQL, params)):
        return True
    return bool((yield from page(dialect, of_table.limit(1))).data)


def change_of_entry(dialect: LogDialect, entry_id: int) -> Effects[Change | None]:
    """One entry as a change, if there is one with this id."""
    [[now]] = yield Statement("select " + dialect.now)
    entry = yield from one(dialect, entry_id)
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
            field_change(name, before.get(name), after.get(name), is_redacted=is_disguised(name, redacted))
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
