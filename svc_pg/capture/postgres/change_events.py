"""Render the function and the triggers that send the changes of one table as events."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, Literal

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Composable, Identifier

from svc_pg.capture.postgres.constants import check_constants
from svc_pg.capture.postgres.expressions import parse, texts
from svc_pg.capture.table import Table, check_column
from svc_pg.config import OnChange
from svc_pg.config.change_events import ChangeOperation, RowValue
from svc_pg.errors import ConfigError
from svc_pg.render import MAX_IDENTIFIER_BYTES, render
from svc_pg.schema_objects import CHANGE_EVENTS, SEND_CHANGES, SchemaObject, function_name
from svc_pg.table_names import TableName

Row = Literal["before", "after"]

_OPERATIONS: Final[tuple[ChangeOperation, ...]] = ("INSERT", "UPDATE", "DELETE")
_ROWS: Final = {"before": SQL("before"), "after": SQL("after")}


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule for one operation, as SQL over ``before`` and ``after``; ``thin`` replaces a payload that is too large."""

    event: str
    payload: Composable
    thin: Composable
    is_thin: bool
    tenant: Composable
    conditions: list[Composable]


def by_table(rules: Iterable[OnChange]) -> dict[TableName, list[OnChange]]:
    """The rules of each table."""
    tables: dict[TableName, list[OnChange]] = {}
    for rule in rules:
        tables.setdefault(TableName.parse(rule.table), []).append(rule)
    return tables


def change_objects(table: Table, rules: Sequence[OnChange], *, redacted: Set[str]) -> list[SchemaObject]:
    """The functions, then the triggers that call them. Raises ConfigError if a rule does not fit the table.

    ``redacted`` columns never enter a payload.
    """
    for rule in rules:
        check(table, rule, redacted=redacted)
    operations = [operation for operation in _OPERATIONS if any(operation in rule.operations for rule in rules)]
    return [_sender(table, rules), _function(table, rules, operations, redacted), *_triggers(table, operations)]


def check(table: Table, rule: OnChange, *, redacted: Set[str]) -> None:
    """Raise ConfigError if a rule names something that the table lacks, or would send a redacted value."""
    if table.parent is not None:
        raise ConfigError(
            f'table "{table.name}" is a partition of "{table.parent}", so its changes are not sent by themselves',
            hint=f'Write table = "{table.parent}"; it covers all partitions.',
        )
    for column in rule.columns or ():
        check_column(table, "columns", column)
    if rule.tenant is not None:
        check_column(table, "tenant", rule.tenant)
    for name, value in rule.values.items():
        check_column(table, "payload", value.column)
        if value.column in redacted:
            raise ConfigError(
                f'table "{table.name}": the payload of {rule.event} names "{value.column}", which is redacted',
                hint="A value kept out of the audit log must not be sent either.",
            )
        if not 0 < len(name.encode()) <= MAX_IDENTIFIER_BYTES:
            raise ConfigError(
                f'table "{table.name}": the payload of {rule.event} has a name of {len(name.encode())} bytes: {name!r}',
                hint=f"It can have 1 to {MAX_IDENTIFIER_BYTES}.",
            )
    key = _identity(table)
    if "UPDATE" in rule.operations and not key:
        raise ConfigError(
            f'table "{table.name}" has no key by which rows before and after an update could be paired',
            hint="Add a primary key; INSERT and DELETE need none.",
        )
    if rule.payload is None and set(key) <= redacted:
        raise ConfigError(
            f'table "{table.name}" has no key that could be sent as {rule.event}', hint="Say what its payload holds."
        )


def check_when(conn: Connection[Any], table: Table, rules: Iterable[OnChange]) -> None:
    """Let PostgreSQL parse every condition as in the function. Raises ConfigError if PostgreSQL cannot."""
    for rule in rules:
        if rule.when is None:
            continue
        for column in table.virtual:
            if re.search(rf'\b(before|after)\s*\.\s*"?{re.escape(column)}\b', rule.when):
                check_column(table, "when", column)
        check_constants(conn, table.name, rule.when)
        probe = _PROBE.format(table=Identifier(*table.name), when=SQL(rule.when))
        try:
            parse(conn, probe)
        except psycopg.OperationalError:  # not the condition's fault: a lock, or a lost connection
            raise
        except psycopg.Error as error:
            raise ConfigError(
                f'table "{table.name}": a condition cannot be evaluated: {error.diag.message_primary}',
                hint="Conditions see before and after, rows of the table (after.status = 'paid'), and name functions in"
                " full.",
            ) from error


# Twice, because an unbalanced parenthesis or an extra clause could fit into one of the two contexts, not into both
_PROBE: Final = SQL("""
select from {table} as after left join {table} as before on false where ({when}
) is true and coalesce({when}
, false) limit 0
""")


def _sender(table: Table, rules: Sequence[OnChange]) -> SchemaObject:
    """The function that may send, for that of the triggers, which may not."""
    function, table_name = function_name(SEND_CHANGES, table.name), str(table.name)
    events = sorted({rule.event for rule in rules})
    body = render("events/send_changes.sql.j2", function=function, table_name=table_name, events=events)
    return SchemaObject("function", f"svc.{function}", body, audited_table=table_name)


def _function(
    table: Table, rules: Sequence[OnChange], operations: Sequence[ChangeOperation], redacted: Set[str]
) -> SchemaObject:
    function = function_name(CHANGE_EVENTS, table.name)
    body = render(
        "events/change_function.sql.j2",
        function=function,
        sender=function_name(SEND_CHANGES, table.name),
        table_name=str(table.name),
        key_before=_key("before", table),
        key_after=_key("after", table),
        has_updates="UPDATE" in operations,
        operations=[
            (each, [_for_operation(table, rule, each, redacted) for rule in rules if each in rule.operations])
            for each in operations
        ],
    )
    return SchemaObject("function", f"svc.{function}", body, audited_table=str(table.name))


def _triggers(table: Table, operations: Sequence[ChangeOperation]) -> Iterator[SchemaObject]:
    # statement triggers are not cloned to partitions, and fire only for the table that a statement names
    for relation in (table.name, *table.partitions):
        for operation in operations:
            trigger = f"00_svc_{CHANGE_EVENTS}_{operation.lower()}"
            body = render(
                "events/change_trigger.sql.j2",
                trigger=trigger,
                table=tuple(relation),
                operation=operation,
                function=function_name(CHANGE_EVENTS, table.name),
            )
            yield SchemaObject("trigger", f"{trigger} on {relation}", body, audited_table=str(table.name))


def _identity(table: Table) -> list[str]:
    """The columns that pair a row before with the row after; empty if nothing identifies a row."""
    return table.key or min(table.unique, key=lambda columns: (len(columns), columns), default=[])


def _key(row: Row, table: Table) -> Composable:
    return SQL("jsonb_build_array({})").format(_columns(row, _identity(table)))


def _for_operation(table: Table, rule: OnChange, operation: ChangeOperation, redacted: Set[str]) -> _Rule:
    row: Row = "before" if operation == "DELETE" else "after"
    key = {column: RowValue("row", column) for column in _identity(table) if column not in redacted}
    guard = texts(sorted(redacted))
    payload = _object(rule.values or key, row)
    if rule.payload == "row":
        sent = texts(column for column in table.columns if column not in redacted)
        payload = SQL("svc.webhook_row(row_to_json({}.*), {}, {})").format(_ROWS[row], sent, guard)
    elif rule.payload is not None and redacted:
        payload = _GUARDED.format(_ROWS[row], guard, payload)
    return _Rule(
        event=rule.event,
        payload=payload,
        thin=_object(key, row, truncated=True),
        is_thin=rule.payload is None,
        tenant=SQL("null::text") if rule.tenant is None else _text(RowValue("row", rule.tenant), row),
        conditions=_conditions(table, rule, operation),
    )


def _conditions(table: Table, rule: OnChange, operation: ChangeOperation) -> list[Composable]:
    conditions: list[Composable] = []
    if operation == "UPDATE" and rule.columns:
        conditions.append(
            _CHANGED.format(
                key=Identifier(_identity(table)[0]),
                before=_columns("before", rule.columns),
                after=_columns("after", rule.columns),
            )
        )
    elif operation == "UPDATE":
        conditions.append(SQL("(before.* operator(pg_catalog.*<>) after.*) is not false"))
    if rule.when is not None:
        # declared to be SQL; the template refuses it if it would end the function's body; it may end in a comment
        conditions.append(SQL("({}\n                 ) is true").format(SQL(rule.when)))
    return conditions


# Compares bytes, which every type has. A row without its pair cannot be compared, so it counts as changed.
_CHANGED: Final = SQL("""(
                     before.{key} is null
                     or row({before})::record operator(pg_catalog.*<>) row({after})::record
                 )""")


def _columns(row: Row, columns: Iterable[str]) -> Composable:
    return SQL(", ").join(_value(RowValue(row, column), row) for column in columns)


# Null, so that only the key is sent, if a redacted column is gone: it may have the name of another
_GUARDED: Final = SQL("""case when svc.webhook_row(row_to_json({}.*), '{{}}', {}) is not null then {} end""")


def _object(values: Mapping[str, RowValue], row: Row, *, truncated: bool = False) -> Composable:
    """A JSON object, made from a row because functions take at most 100 arguments."""
    fields: list[Composable] = [
        SQL("{} as {}").format(_value(value, row), Identifier(name)) for name, value in values.items()
    ]
    if truncated:
        fields.append(SQL("true as truncated"))
    return SQL("(select row_to_json(payload.*) from (select {}) as payload)").format(SQL(", ").join(fields))


def _value(value: RowValue, row: Row) -> Composable:
    return SQL("{}.{}").format(_ROWS[row if value.source == "row" else value.source], Identifier(value.column))


def _text(value: RowValue, row: Row) -> Composable:
    return SQL("{}::text").format(_value(value, row))
