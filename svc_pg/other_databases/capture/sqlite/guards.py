"""The triggers that keep the log append-only, against accidents: any writer of the file can drop them."""

from typing import Final

from svc_pg.other_databases.capture.log_ids import HIGHEST_ID
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.rendering.sql_text import Sql, sql
from svc_pg.rendering.templates import render_for

_GUARDS: Final[dict[str, tuple[Sql, Sql | None]]] = {
    "UPDATE": (sql("update"), None),
    "DELETE": (sql("delete"), sql("old.timestamp >= coalesce((select max(before) from svc_audit_purge), '')")),
    # it would delete an entry without firing the trigger above; -1 is an id that SQLite has yet to give. After the
    # greatest id there is none left
    "REPLACE": (
        sql("insert"),
        sql(
            "new.id <> -1 and (new.id > {} or exists (select 1 from svc_audit_logs where id = new.id))",
            Sqlite().literal(HIGHEST_ID),
        ),
    ),
}


def guards() -> list[SchemaObject]:
    """One trigger for each way to change an entry."""
    return [_guard(operation, verb, condition) for operation, (verb, condition) in _GUARDS.items()]


def _guard(operation: str, verb: Sql, condition: Sql | None) -> SchemaObject:
    name = f"svc_audit_guard_{operation.lower()}"
    text = render_for(
        Sqlite(),
        "sqlite/capture/guard_trigger.sql.j2",
        trigger=name,
        verb=verb,
        condition=condition,
        message=f"{operation} of svc_audit_logs refused: the audit log is append-only",
    )
    return SchemaObject("trigger", f"{name} on main.svc_audit_logs", text)
