"""Rules that send changes of a table, as SQL over the rows before and after."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final, Literal

from psycopg import sql
from psycopg.sql import SQL, Composable, Identifier

from svc_pg.capture.postgres.expressions import texts
from svc_pg.capture.postgres.images import json_value, query_json
from svc_pg.capture.table import Table
from svc_pg.config import OnChange
from svc_pg.config.change_events import ChangeOperation, RowValue

Row = Literal["before", "after"]

_ROWS: Final = {"before": SQL("before"), "after": SQL("after")}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for one operation, as SQL over ``before`` and ``after``; ``thin`` replaces a payload that is too large."""

    event: str
    payload: Composable
    thin: Composable
    is_thin: bool
    tenant: Composable
    key: Composable | None
    conditions: list[Composable]


def identity(table: Table) -> list[str]:
    """The columns that pair a row before with the row after; empty if nothing identifies a row."""
    return table.key or min(table.unique, key=lambda columns: (len(columns), columns), default=[])


def pairing_key(row: Row, table: Table) -> Composable:
    """The value by which a row before is paired with the row after; all types are in jsonb, or printed."""
    values = (_json(table, RowValue(row, column), row) for column in identity(table))
    return SQL("jsonb_build_array({})").format(SQL(", ").join(values))


def for_operation(table: Table, rule: OnChange, operation: ChangeOperation, redacted: Set[str]) -> Rule:
    """The rule for one operation. ``redacted`` columns never enter a payload."""
    row: Row = "before" if operation == "DELETE" else "after"
    key = {column: RowValue("row", column) for column in identity(table) if column not in redacted}
    guard = texts(sorted(redacted))
    payload = _object(table, rule.values or key, row)
    if rule.payload == "row":
        sent = texts(column for column in table.columns if column not in redacted)
        payload = SQL("svc.webhook_row({}, {}, {})").format(query_json(table, _ROWS[row]), sent, guard)
    elif rule.payload is not None and redacted:
        payload = _guarded(redacted, payload)
    return Rule(
        event=rule.event,
        payload=payload,
        thin=_object(table, key, row, truncated=True),
        is_thin=rule.payload is None,
        tenant=SQL("null::text") if rule.tenant is None else _tenant(table, rule.tenant, row),
        key=_order_key(table, rule, row, redacted),
        conditions=_conditions(table, rule, operation),
    )


# A tenant longer than svc.send takes is sent as its hash: no endpoint has such a tenant, and the write must not fail
_TENANT: Final = SQL("""case when octet_length({0}) <= 1024 then {0}
                            else 'sha256:' || encode(sha256(convert_to({0}, 'UTF8')), 'hex') end""")


def _order_key(table: Table, rule: OnChange, row: Row, redacted: Set[str]) -> Composable | None:
    """The key that orders messages; null if one of its columns is null."""
    if not rule.key_parts:
        return None
    value = SQL(" || ").join(
        sql.Literal(part) if isinstance(part, str) else _text(table, part, row) for part in rule.key_parts
    )
    columns = {part.column for part in rule.key_parts if isinstance(part, RowValue)}
    if not redacted or columns <= set(identity(table)):
        return value
    return _guarded(redacted, value)


def _conditions(table: Table, rule: OnChange, operation: ChangeOperation) -> list[Composable]:
    conditions: list[Composable] = []
    if operation == "UPDATE" and rule.columns:
        conditions.append(
            _CHANGED.format(
                key=Identifier(identity(table)[0]),
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


def _guarded(redacted: Set[str], value: Composable) -> Composable:
    """Null if a redacted column is gone, because it may have been renamed; then only the key is sent."""
    return _GUARDED.format(texts(sorted(redacted)), sql.Literal(len(redacted)), value)


_GUARDED: Final = SQL("""case when (
                           select count(*) from pg_attribute a
                            where a.attrelid = tg_relid and a.attname::text = any ({}) and not a.attisdropped
                       ) = {} then {} end""")


def _object(table: Table, values: Mapping[str, RowValue], row: Row, *, truncated: bool = False) -> Composable:
    """A JSON object, made from a row because functions take at most 100 arguments."""
    fields: list[Composable] = [
        SQL("{} as {}").format(_json(table, value, row), Identifier(name)) for name, value in values.items()
    ]
    if truncated:
        fields.append(SQL("true as truncated"))
    return SQL("(select row_to_json(payload.*) from (select {}) as payload)").format(SQL(", ").join(fields))


def _value(value: RowValue, row: Row) -> Composable:
    return SQL("{}.{}").format(_ROWS[row if value.source == "row" else value.source], Identifier(value.column))


def _json(table: Table, value: RowValue, row: Row) -> Composable:
    return json_value(table, value.column, _value(value, row))


def _text(table: Table, value: RowValue, row: Row) -> Composable:
    return json_value(table, value.column, _value(value, row), is_text=True)


def _tenant(table: Table, column: str, row: Row) -> Composable:
    return _TENANT.format(_text(table, RowValue("row", column), row))
