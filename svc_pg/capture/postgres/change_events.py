"""Render the function and the triggers that send the changes of one table as events."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, Final

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from svc_pg.capture.postgres.change_event_rules import for_operation, identity, pairing_key
from svc_pg.capture.postgres.constants import check_constants
from svc_pg.capture.postgres.expressions import parse
from svc_pg.capture.table import Table, check_column
from svc_pg.config import OnChange
from svc_pg.config.change_events import ChangeOperation, RowValue
from svc_pg.database.storable_texts import MAX_IDENTIFIER_BYTES
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.rendering.schema_objects import SchemaObject, names_of
from svc_pg.rendering.templates import render

_OPERATIONS: Final[tuple[ChangeOperation, ...]] = ("INSERT", "UPDATE", "DELETE")


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
    if table.inherits and not {"UPDATE", "DELETE"}.isdisjoint(rule.operations):
        raise ConfigError(
            f'table "{table.name}" inherits from a table, or one from it, and an UPDATE or DELETE changes the rows of'
            f" both, so {rule.event} cannot be sent of these",
            hint='Send operation = "INSERT" alone, or call svc.send in a trigger.',
        )
    for column in rule.columns or ():
        check_column(table, "columns", column)
    if rule.tenant is not None:
        check_column(table, "tenant", rule.tenant)
    for part in rule.key_parts:
        if isinstance(part, RowValue):
            check_column(table, "key", part.column)
            _refuse_redacted(table, rule, part.column, option="key", redacted=redacted)
    for name, value in rule.values.items():
        check_column(table, "payload", value.column)
        _refuse_redacted(table, rule, value.column, option="payload", redacted=redacted)
        if not 0 < len(name.encode()) <= MAX_IDENTIFIER_BYTES:
            raise ConfigError(
                f'table "{table.name}": the payload of {rule.event} has a name of {len(name.encode())} bytes: {name!r}',
                hint=f"It can have 1 to {MAX_IDENTIFIER_BYTES}.",
            )
    key = identity(table)
    if "UPDATE" in rule.operations and not key:
        raise ConfigError(
            f'table "{table.name}" has no key by which rows before and after an update could be paired',
            hint="Add a primary key; INSERT and DELETE need none.",
        )
    if rule.payload is None and set(key) <= redacted:
        raise ConfigError(
            f'table "{table.name}" has no key that could be sent as {rule.event}', hint="Say what its payload holds."
        )


def _refuse_redacted(table: Table, rule: OnChange, column: str, *, option: str, redacted: Set[str]) -> None:
    if column in redacted:
        raise ConfigError(
            f'table "{table.name}": the {option} of {rule.event} names "{column}", which is redacted',
            hint="A value kept out of the audit log must not be sent either.",
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
    """The function with the right to send, called by that of the triggers, which lacks it."""
    function, table_name = names_of(table.name).send_changes, str(table.name)
    events = sorted({rule.event for rule in rules})
    body = render("events/send_changes.sql.j2", function=function, table_name=table_name, events=events)
    return SchemaObject("function", f"svc.{function}", body, audited_table=table_name)


def _function(
    table: Table, rules: Sequence[OnChange], operations: Sequence[ChangeOperation], redacted: Set[str]
) -> SchemaObject:
    function = names_of(table.name).change_events
    body = render(
        "events/change_function.sql.j2",
        function=function,
        sender=names_of(table.name).send_changes,
        table_name=str(table.name),
        key_before=pairing_key("before", table),
        key_after=pairing_key("after", table),
        has_updates="UPDATE" in operations,
        keys_may_repeat=table.keys_may_repeat,
        printed=[*table.printed, *table.printed_lists],
        has_when=any(rule.when is not None for rule in rules),
        has_keys=any(rule.key for rule in rules),
        operations=[
            (each, [for_operation(table, rule, each, redacted) for rule in rules if each in rule.operations])
            for each in operations
        ],
    )
    return SchemaObject("function", f"svc.{function}", body, audited_table=str(table.name))


def _triggers(table: Table, operations: Sequence[ChangeOperation]) -> Iterator[SchemaObject]:
    # statement triggers are not cloned to partitions, and fire only for the table that a statement names
    for relation in (table.name, *table.partitions):
        for operation in operations:
            trigger = f"00_svc_change_events_{operation.lower()}"
            body = render(
                "events/change_trigger.sql.j2",
                trigger=trigger,
                table=tuple(relation),
                operation=operation,
                function=names_of(table.name).change_events,
            )
            yield SchemaObject("trigger", f"{trigger} on {relation}", body, audited_table=str(table.name))
