"""The last changes of a record as PostgreSQL tells them, by any driver."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, LiteralString

from svc_pg.audit.log.change import Change, cut, field_change
from svc_pg.audit.log.entry import WITH_ID
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.read.change_order import OfRecord, places
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import ALL
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName

_COLUMNS: Final = statement("queries/audit/last_changes.sql")
_IS_KNOWN: Final = """
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = %s and c.relname = %s)
       or exists (select from svc.audit_logs where table_name = %s)
"""
_OF_ENTRY: Final[LiteralString] = _COLUMNS + " from svc.audit_logs" + WITH_ID


def changes_of(table: TableName, record: str, limit: int) -> Effects[list[Change]]:
    """The last changes of one record, newest first."""
    key, name = bounded(record), str(table)
    wanted = ALL.where("record_id = %s", key)
    text, params = places(_COLUMNS, OfRecord(key, (name,)), wanted, tables=[name], is_newest=True, limit=limit)
    found = yield Statement(text, params)
    return _changes([change] for change, is_selected, _ in found if is_selected)


def is_known(table: TableName) -> Effects[bool]:
    """True if the table exists, or has entries."""
    [[is_known]] = yield Statement(_IS_KNOWN, (table.schema, table.table, str(table)))
    return bool(is_known)


def change_of_entry(entry_id: int) -> Effects[Change | None]:
    """One entry as a change, if there is one with this id."""
    return next(iter(_changes((yield Statement(_OF_ENTRY, (entry_id, entry_id))))), None)


def _changes(found: Iterable[Sequence[Any]]) -> list[Change]:
    return [_change(json.loads(text)) for [text] in found]


def _change(found: dict[str, Any]) -> Change:
    fields = [
        field_change(each["name"], _side(each, "before"), _side(each, "after"), is_redacted=each["is_redacted"])
        for each in found["fields"] or ()
    ]
    return Change(
        id=found["id"],
        timestamp=datetime.fromisoformat(found["timestamp"]).astimezone(UTC),
        age=max(timedelta(), timedelta(seconds=found["seconds"])),
        operation=found["operation"],
        actor=found["actor_id"],
        actor_id=found["actor_id"],
        db_user=found["db_user"],
        label=cut(found["label"]),
        severity=found["severity"],
        description=cut(found["description"]),
        fields=fields,
        more_fields=max(0, (found["field_count"] or 0) - len(fields)),
    )


def _side(field: dict[str, Any], side: str) -> object:
    """The beginning of a value, a text or JSON."""
    text = field[side]
    return text if text is None or field[f"{side}_type"] == "string" else Snapshot(text)
