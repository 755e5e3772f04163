"""Render the functions and the triggers that record the changes of one table."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from hashlib import sha256
from typing import Final

from psycopg.sql import SQL, Composable, Literal

from svc_pg.capture.postgres.catalog import Table, check_column
from svc_pg.capture.postgres.expressions import Operation, enrichment
from svc_pg.config import AuditedTable, description
from svc_pg.errors import ConfigError
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


def capture_objects(table: Table, rules: AuditedTable) -> list[SchemaObject]:
    """The functions, then the triggers that call them. Raises ConfigError where a rule does not fit the table."""
    check(table, rules)
    redact = _redact_function(table, rules)
    capture = _capture_function(table, rules, is_redacted=redact is not None)
    triggers = _triggers(table, rules)
    return [redact, capture, *triggers] if redact else [capture, *triggers]


def snapshot_sql(table: Table, rules: AuditedTable) -> str:
    """The statements that write a SNAPSHOT entry for each row that the log does not know, in one transaction."""
    is_redacted = _redact_function(table, rules) is not None
    return render(
        "capture/snapshot.sql.j2",
        table=tuple(table.name),
        table_name=str(table.name),
        key=key_of(table, rules),
        virtual=table.virtual,
        redact_function=function_name("redact", table.name) if is_redacted else None,
        redacted=_redacted_fields(table, rules),
    )


def redacted_columns(table: Table, rules: AuditedTable) -> set[str]:
    """The columns of which the log never has the whole value."""
    left_out = set() if rules.columns is None else {*table.columns}.difference(rules.columns, key_of(table, rules))
    return left_out.union(column for column in rules.redactions if column in table.columns)


def key_of(table: Table, rules: AuditedTable) -> list[str]:
    """The columns that identify a record."""
    return rules.key or table.key


def _redact_function(table: Table, rules: AuditedTable) -> SchemaObject | None:
    """The function that makes a snapshot recordable; None where everything is recorded as it is."""
    redactions = {column: kind for column, kind in rules.redactions.items() if column in table.columns}
    if not redactions and rules.columns is None and rules.max_value_bytes is None:
        return None
    removed = sorted(column for column, kind in redactions.items() if kind == "remove")
    kept = None if rules.columns is None else {*rules.columns, *key_of(table, rules)}.difference(removed)
    function = function_name("redact", table.name)
    sql = render(
        "capture/redact_function.sql.j2",
        function=function,
        table_name=str(table.name),
        guarded=sorted({*redactions, *(kept or ())}),
        columns=None if kept is None else sorted(kept),
        removed=removed,
        replaced=sorted((column, kind) for column, kind in redactions.items() if kind != "remove"),
        max_value_bytes=rules.max_value_bytes,
        on_drift=rules.on_drift,
    )
    return SchemaObject("function", f"svc.{function}", sql, audited_table=str(table.name))


def _capture_function(table: Table, rules: AuditedTable, *, is_redacted: bool) -> SchemaObject:
    function = function_name("capture", table.name)
    values: dict[str, object] = {
        "function": function,
        "table_name": str(table.name),
        "columns": sorted(set(table.columns).difference(table.json_columns)),
        "json_columns": sorted(table.json_columns),
        "known": sorted(table.columns),
        "key": key_of(table, rules),
        "virtual": table.virtual,
        "redact_function": function_name("redact", table.name) if is_redacted else None,
        "redacted": _redacted_fields(table, rules),
        "on_error": rules.on_error,
    }
    if rules.level == "row":
        template = "capture/function.sql.j2"
        operations = [(operation, enrichment(rules.enrich, operation)) for operation in _OPERATIONS]
        values["operations"] = operations
        values["has_choice"] = any(words and words.choice for _, words in operations)
    else:
        template = "capture/statement_function.sql.j2"
        values["enrichment"] = enrichment(rules.enrich, None)
    blank = render(template, **values, template_hash="")
    sql = render(template, **values, template_hash=sha256(blank.encode()).hexdigest())
    return SchemaObject("function", f"svc.{function}", sql, audited_table=str(table.name))


def _redacted_fields(table: Table, rules: AuditedTable) -> Composable:
    """The fields that an entry lacks or disguises; ``*`` where a redacted column was gone and all are masked."""
    fields = sorted(column for column in rules.redactions if column in table.columns)
    if not fields:
        return SQL("null")
    names = SQL("array[{}]").format(SQL(", ").join(Literal(field) for field in fields))
    return SQL("case when coalesce(v_after, v_before) ?& {0} then {0} else '{{*}}' end").format(names)


def _triggers(table: Table, rules: AuditedTable) -> Iterable[SchemaObject]:
    def trigger(name: str, on: TableName) -> SchemaObject:
        sql = render(
            "capture/trigger.sql.j2",
            trigger=name,
            table=tuple(on),
            level=rules.level,
            function=function_name("capture", table.name),
            replica=rules.replica,
        )
        return SchemaObject("trigger", f"{name} on {on}", sql, audited_table=str(table.name))

    yield from (trigger(name, table.name) for name in _TRIGGERS[rules.level])
    # row triggers are cloned to partitions, statement triggers are not
    yield from (trigger(_TRUNCATE, partition) for partition in table.partitions)


def check(table: Table, rules: AuditedTable) -> None:
    """Raise ConfigError where a rule names what the table does not have, or would record what must not be."""
    named = [("key", rules.key), ("columns", rules.columns or [])]
    if not rules.is_pattern:  # of a pattern's tables, some have the column and some have not
        named.append(("redact", list(rules.redactions)))
    for option, columns in named:
        for column in columns:
            check_column(table, option, column)
    for rule in rules.enrich:
        for column in rule.when.columns() if rule.when else ():
            check_column(table, "when", column)
        for value in description.parse(rule.description or ""):
            if isinstance(value, description.Value) and value.column is not None:
                check_column(table, "description", value.column)
                if value.column in rules.redactions or (rules.columns and value.column not in rules.columns):
                    raise ConfigError(
                        f'table "{table.name}": a description names "{value.column}", which is redacted',
                        hint="What is redacted must not be anywhere in an entry.",
                    )
    for column in key_of(table, rules):
        if column in rules.redactions:
            raise ConfigError(
                f'table "{table.name}": redact names "{column}", which is part of the key',
                hint="The key is every entry's record_id. Name another key, or leave the column.",
            )
    if rules.level == "statement":
        _check_statement_level(table, rules)


def check_pattern(rules: AuditedTable, tables: Sequence[Table]) -> None:
    """Raise ConfigError where a column that a pattern redacts is in none of its tables: it is misspelt, then."""
    columns = {column for table in tables for column in table.columns}
    for column in rules.redactions if rules.is_pattern else ():
        if column not in columns:
            near = get_close_matches(column, columns, n=1)
            raise ConfigError(
                f'pattern "{rules.name}": redact names "{column}", and no table has such a column',
                hint=f'Did you mean "{near[0]}"?' if near else None,
            )


def _check_statement_level(table: Table, rules: AuditedTable) -> None:
    reason = None
    if table.is_partitioned:
        reason = "is partitioned"
    elif table.parent is not None:
        reason = f'is a partition of "{table.parent}"'
    elif not key_of(table, rules):
        reason = "has no key by which rows before and after could be paired"
    elif rules.key and not any(set(columns) <= set(rules.key) for columns in table.unique):
        reason = f"has no unique index on {', '.join(rules.key)} without NULL"
    if reason:
        raise ConfigError(
            f'table "{table.name}" {reason}, so it cannot be audited by statement', hint='Use level = "row".'
        )
