"""Render the functions and the triggers that record the changes of one table."""

from collections.abc import Iterable
from typing import Final

from psycopg.sql import SQL, Composable, Literal

from svc_pg.capture.postgres.expressions import Operation, enrichment
from svc_pg.capture.rules import TableRules
from svc_pg.render import render
from svc_pg.schema_objects import SchemaObject, function_name
from svc_pg.table_names import TableName

_OPERATIONS: Final[tuple[Operation, ...]] = ("UPDATE", "INSERT", "DELETE", "TRUNCATE")
_TRUNCATE: Final = "00_svc_audit_truncate"
# 00: PostgreSQL fires triggers in the order of their names, and capture precedes the application's own
_TRIGGERS: Final = {
    "row": ("00_svc_audit_write", "00_svc_audit_update", _TRUNCATE),
    "statement": ("00_svc_audit_insert", "00_svc_audit_update", "00_svc_audit_delete", _TRUNCATE),
}


def capture_objects(rules: TableRules) -> list[SchemaObject]:
    """The functions, then the triggers that call them."""
    redact = [_redact_function(rules)] if rules.is_redacted else []
    return [*redact, _capture_function(rules), *_triggers(rules)]


def snapshot_sql(rules: TableRules) -> str:
    """The statements that write a SNAPSHOT entry for each row that the log does not know, in one transaction."""
    return render(
        "capture/snapshot.sql.j2",
        table=tuple(rules.table.name),
        table_name=str(rules.table.name),
        key=rules.key,
        virtual=rules.table.virtual,
        redact_function=_redact_function_name(rules),
        redacted=_redacted_fields(rules),
    )


def _redact_function_name(rules: TableRules) -> str | None:
    return function_name("redact", rules.table.name) if rules.is_redacted else None


def _redact_function(rules: TableRules) -> SchemaObject:
    """The function that makes a snapshot recordable."""
    removed = sorted(column for column, kind in rules.redactions.items() if kind == "remove")
    kept = None if rules.columns is None else sorted(rules.columns.difference(removed))
    function = function_name("redact", rules.table.name)
    sql = render(
        "capture/redact_function.sql.j2",
        function=function,
        table_name=str(rules.table.name),
        guarded=sorted({*rules.redactions, *(kept or ())}),
        columns=kept,
        removed=removed,
        replaced=sorted((column, kind) for column, kind in rules.redactions.items() if kind != "remove"),
        max_value_bytes=rules.audited.max_value_bytes,
        on_drift=rules.audited.on_drift,
    )
    return SchemaObject("function", f"svc.{function}", sql, audited_table=str(rules.table.name))


def _capture_function(rules: TableRules) -> SchemaObject:
    table = rules.table
    function = function_name("capture", table.name)
    values: dict[str, object] = {
        "function": function,
        "table_name": str(table.name),
        "columns": sorted(set(table.columns).difference(table.json_columns)),
        "json_columns": sorted(table.json_columns),
        "known": sorted(table.columns),
        "key": rules.key,
        "virtual": table.virtual,
        "redact_function": _redact_function_name(rules),
        "redacted": _redacted_fields(rules),
        "on_error": rules.audited.on_error,
    }
    if rules.audited.level == "row":
        template = "capture/function.sql.j2"
        operations = [(operation, enrichment(rules.audited.enrich, operation)) for operation in _OPERATIONS]
        values["operations"] = operations
        values["has_choice"] = any(words and words.choice for _, words in operations)
    else:
        template = "capture/statement_function.sql.j2"
        values["enrichment"] = enrichment(rules.audited.enrich, None)
    return SchemaObject("function", f"svc.{function}", render(template, **values), audited_table=str(table.name))


def _redacted_fields(rules: TableRules) -> Composable:
    """The fields that an entry lacks or disguises; ``*`` if a redacted column was gone and all are masked."""
    if not rules.redactions:
        return SQL("null")
    names = SQL("array[{}]").format(SQL(", ").join(Literal(field) for field in sorted(rules.redactions)))
    return SQL("case when coalesce(v_after, v_before) ?& {0} then {0} else '{{*}}' end").format(names)


def _triggers(rules: TableRules) -> Iterable[SchemaObject]:
    table = rules.table

    def trigger(name: str, on: TableName) -> SchemaObject:
        sql = render(
            "capture/trigger.sql.j2",
            trigger=name,
            table=tuple(on),
            level=rules.audited.level,
            function=function_name("capture", table.name),
            replica=rules.audited.replica,
        )
        return SchemaObject("trigger", f"{name} on {on}", sql, audited_table=str(table.name))

    yield from (trigger(name, table.name) for name in _TRIGGERS[rules.audited.level])
    # row triggers are cloned to partitions, statement triggers are not
    yield from (trigger(_TRUNCATE, partition) for partition in table.partitions)
