"""Render the triggers that record the changes of one table of MySQL or MariaDB."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.capture_dialect import OPERATIONS, VERBS, Operation, RowName
from svc_pg.other_databases.capture.conditions import Rows, applies
from svc_pg.other_databases.capture.entry_sql import NULL, entry_sql, json_list, record_id, snapshot
from svc_pg.other_databases.capture.mysql.expressions import MAX_IDENTIFIER, MySql
from svc_pg.other_databases.capture.mysql.table import MySqlTable
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import Sql, joined, sql
from svc_pg.rendering.templates import render_for

PREFIX: Final = "00_svc_audit_"

_ROWS: Final[dict[Operation, tuple[RowName, ...]]] = {"INSERT": ("new",), "UPDATE": ("old", "new"), "DELETE": ("old",)}


def capture_objects(dialect: MySql, table: MySqlTable, rules: TableRules) -> list[SchemaObject]:
    """The triggers after each kind of change."""
    made = [_trigger(dialect, table, rules, operation) for operation in OPERATIONS]
    return [replace(trigger, leaves_out=rules.leaves_out, title=rules.title) for trigger in made]


def _trigger(dialect: MySql, table: MySqlTable, rules: TableRules, operation: Operation) -> SchemaObject:
    kept = [column for column in table.columns if rules.columns is None or column.name in rules.columns]
    shown = [column for column in kept if column.name not in rules.redactions]
    large = None if rules.audited.max_value_bytes else dialect.large(_ROWS[operation], shown)
    entry = entry_sql(replace(dialect, is_careful=False), rules, table.columns, operation)
    columns = {column.name: column for column in table.columns}
    changed = {
        name: sql("if({}, null, {})", dialect.same(columns[name]), dialect.literal(json_list([name])[1:-1]))
        for name, _ in entry.changed
    }
    ignored = [field for name, field in changed.items() if name in rules.ignored]
    return trigger_object(
        dialect,
        operation.lower(),
        rules.table.name,
        "mysql/capture/trigger.sql.j2",
        verb=VERBS[operation],
        e=entry,
        large=large,
        careful=entry_sql(dialect, rules, table.columns, operation) if large else None,
        changed_fields=joined(",\n        ", list(changed.values())) if changed else None,
        ignored_fields=joined(",\n        ", ignored) if ignored else None,
        is_hashed=rules.is_hashed,
        warns=rules.audited.on_error == "warn",
        undone=undone(dialect, table) if operation == "UPDATE" and dialect.is_mariadb else None,
    )


@dataclass(frozen=True, slots=True)
class Undone:
    """The conditions of an update that did not happen: it ``moves`` a key, but a row with the old key ``is_kept``."""

    moves: Sql
    is_kept: Sql


def undone(dialect: MySql, table: MySqlTable) -> Undone | None:
    """The conditions of an UPDATE IGNORE that an index or a foreign key stopped: MariaDB still fires its trigger.

    None if the table has neither, or no primary key by which to find the row.
    """
    columns = [column for column in table.columns if column.name in table.constrained]
    if not table.table.key or not columns:
        return None
    kept = MySql(is_mariadb=True, new=sql("kept"))
    found = [sql("kept.{0} = old.{0}", dialect.ident(name)) for name in table.table.key]
    same = [sql("not ({})", kept.differs(column)) for column in columns]
    return Undone(
        moves=joined(" or ", [dialect.differs(column) for column in columns]), is_kept=joined(" and ", [*found, *same])
    )


def snapshot_sql(dialect: MySql, table: MySqlTable, rules: TableRules, *, truncated: int) -> str:
    """The statement that writes a SNAPSHOT entry for each row missing from the log.

    ``truncated`` is the id of the last TRUNCATE's entry, or 0: older entries do not count.
    """
    child = MySql(dialect.is_mariadb, old=sql("child"), new=sql("child"))
    columns = {column.name: column for column in table.columns}
    redacted = sorted(rules.redactions)
    return render_for(
        MySql(dialect.is_mariadb),
        "mysql/capture/snapshot.sql.j2",
        table=tuple(rules.table.name),
        table_name=str(rules.table.name),
        has_key=bool(rules.key),
        record_id=record_id(child, "new", [columns[name] for name in rules.key]),
        image=snapshot(child, "new", rules, table.columns),
        redacted=dialect.literal(json_list(redacted)) if redacted else NULL,
        is_hashed=rules.is_hashed,
        recorded=applies(child, rules.audited.record_when, Rows(columns, "INSERT")),
        truncated=truncated,
    )


def trigger_object(dialect: MySql, kind: str, table: TableName, template: str, /, **values: object) -> SchemaObject:
    """The trigger of one kind on a table. Triggers of a database share its names, so it has the table's."""
    name = trigger_name(kind, table)
    text = render_for(
        MySql(dialect.is_mariadb),
        template,
        trigger=(table.schema, name),
        table=tuple(table),
        table_name=str(table),
        is_mariadb=dialect.is_mariadb,
        **values,
    )
    return SchemaObject("trigger", str(Trigger(name, table)), text, audited_table=str(table))


def trigger_name(kind: str, table: TableName) -> str:
    """``00_svc_audit_insert_customer``; with a digest if that is too long, or has capital letters.

    MySQL tells tables apart by the case of their names, but not triggers.
    """
    plain = f"{PREFIX}{kind}_{table.table}"
    if len(plain) <= MAX_IDENTIFIER and table.table == table.table.lower():
        return plain
    digest = sha256(table.table.encode()).hexdigest()[:10]
    return f"{plain[: MAX_IDENTIFIER - len(digest) - 1]}_{digest}"
