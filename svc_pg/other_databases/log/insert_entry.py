"""Entries that no trigger writes: about a purge, and from ``capture_log``."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, LiteralString

from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.database.effects import Effects, Statement
from svc_pg.formats.json_writer import encode
from svc_pg.other_databases.log.log_dialects import MYSQL, LogDialect
from svc_pg.other_databases.log.session_values import session_values

_COLUMNS: Final[LiteralString] = (
    "table_name, operation, record_id, before_data, after_data, changed_fields, label, severity, compliance,"
    " description"
)


def insert_entry(dialect: LogDialect, entry: ManualEntry) -> Effects[str]:
    """Write an entry, whose actor, tenant and context are the connection's, and return its id."""
    before, after = (None if each is None else each.value for each in (entry.before, entry.after))
    changed = None if before is None or after is None else _changed(before, after)
    values = (
        entry.table_name,
        entry.operation,
        entry.record_id,
        _json(before),
        _json(after),
        _json(changed),
        entry.label,
        entry.severity,
        _json(list(entry.compliance) or None),
        entry.description,
    )
    who = (yield from session_values()) if dialect is MYSQL else ()
    columns: LiteralString = " (timestamp, actor_id, tenant_id, context, db_user, " + _COLUMNS + ") "
    given: LiteralString = ", ".join([dialect.now, dialect.context, dialect.db_user] + ["%s"] * len(values))
    yield Statement("insert into " + dialect.log + columns + "select " + given, (*who, *values))
    [[entry_id]] = yield Statement(dialect.last_id)
    return str(entry_id)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys whose values differ, in PostgreSQL's order: by their bytes."""
    names = {*before, *after}
    absent = object()
    changed = [name for name in names if not is_same(before.get(name, absent), after.get(name, absent))]
    return sorted(changed, key=lambda name: name.encode(errors="surrogatepass"))


def is_same(one: Any, other: Any) -> bool:
    """True if two JSON values are equal: 1 and 1.0 are, and 1 and true are not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return one == other
    return type(one) is type(other) and bool(one == other)


def _json(value: object) -> str | None:
    return None if value is None else encode(value).decode()
