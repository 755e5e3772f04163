"""Compile a table's rules into the expressions of its entries, for any dialect."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.config import EnrichmentRule, description
from svc_pg.other_databases.capture.capture_dialect import CaptureDialect, Column, Operation, RowName
from svc_pg.other_databases.capture.conditions import FALSE, Rows, applies
from svc_pg.rendering.sql_text import Sql, chained, joined, sql

NULL: Final = sql("null")


@dataclass(frozen=True, slots=True)
class EntrySql:
    """The expressions of one operation's entry, over the trigger's rows and the variables of the template.

    ``rule`` computes the number of the applicable rule, a variable for label, severity, compliance and description; it
    is None if no rule can apply, or the first always does. ``changed`` pairs a field's name with the condition under
    which it changed, in the order of changed_fields; it is empty for other operations than UPDATE. The entry is written
    if ``recorded`` holds, or always if that is None. ``moved_from`` is the record_id before, if an UPDATE changed it.
    Compliance and ``redacted`` are texts of JSON arrays.
    """

    operation: Operation
    record_id: Sql
    moved_from: Sql
    before: Sql
    after: Sql
    changed: Sequence[tuple[str, Sql]]
    recorded: Sql | None
    redacted: Sql
    rule: Sql | None
    label: Sql
    severity: Sql
    compliance: Sql
    description: Sql


def entry_sql(
    dialect: CaptureDialect,
    rules: TableRules,
    columns: Sequence[Column],
    operation: Operation,
    *,
    has_variable: bool = True,
) -> EntrySql:
    """Compile the rules of one table for one operation. ``columns`` are all of the table, in its order.

    The first rule that applies decides label, severity, compliance and description, as on PostgreSQL. Without
    ``has_variable`` each of them chooses the rule for itself.
    """
    row: RowName = "old" if operation == "DELETE" else "new"
    by_name = {column.name: column for column in columns}
    key = [by_name[name] for name in rules.key]
    possible = [rule for rule in rules.audited.enrich if rule.operation in (operation, "*")]
    rows = Rows(by_name, operation)
    conditions = [applies(dialect, rule.when, rows) for rule in possible]
    is_known = not possible or conditions[0] is None
    chosen = possible[:1] if is_known else possible
    redacted = sorted(rules.redactions)
    choice = None if is_known else _choice(dialect, conditions)
    chooses = partial(_chosen, dialect, dialect.variable("rule") if choice is not None and has_variable else choice)
    return EntrySql(
        operation=operation,
        record_id=record_id(dialect, row, key),
        moved_from=moved_from(dialect, key) if operation == "UPDATE" else NULL,
        before=NULL if operation == "INSERT" else snapshot(dialect, "old", rules, columns),
        after=NULL if operation == "DELETE" else snapshot(dialect, "new", rules, columns),
        changed=_changed(dialect, columns) if operation == "UPDATE" else [],
        recorded=applies(dialect, rules.audited.record_when, rows),
        redacted=dialect.literal(json_list(redacted)) if redacted else NULL,
        rule=choice if has_variable else None,
        label=chooses([dialect.literal(rule.label) for rule in chosen]),
        severity=chooses([dialect.literal(rule.severity) for rule in chosen]),
        compliance=chooses(
            [dialect.literal(json_list(rule.compliance)) if rule.compliance else NULL for rule in chosen]
        ),
        description=chooses([_description(dialect, rules, rows, rule) for rule in chosen]),
    )


def record_id(dialect: CaptureDialect, row: RowName, key: Sequence[Column]) -> Sql:
    """The key as text: of one column its own, of several a JSON array, because a separator collides."""
    if not key:
        return NULL
    return dialect.text(row, key[0]) if len(key) == 1 else dialect.composite_key(row, key)


def moved_from(dialect: CaptureDialect, key: Sequence[Column]) -> Sql:
    """The record_id that a row had before, if an UPDATE changed it."""
    if not key:
        return NULL
    differs = chained(" or ", [dialect.differs(column) for column in key])
    return dialect.if_else(differs, record_id(dialect, "old", key), NULL)


def snapshot(dialect: CaptureDialect, row: RowName, rules: TableRules, columns: Sequence[Column]) -> Sql:
    """The JSON object of a row's recorded columns."""
    members = []
    for column in columns:
        how = rules.redactions.get(column.name)
        if how != "remove" and (rules.columns is None or column.name in rules.columns):
            value = dialect.redacted(row, column, how) if how else _capped(dialect, row, column, rules, is_text=False)
            members.append((column.name, value))
    return dialect.object(members)


def json_list(texts: Sequence[str]) -> str:
    """A JSON array as PostgreSQL writes it."""
    return json.dumps(list(texts), ensure_ascii=False)


def changed_fields(dialect: CaptureDialect, changed: Sequence[tuple[str, Sql]]) -> list[Sql]:
    """Texts whose concatenation, without its first two characters, is the content of a JSON array of changed fields."""
    empty = dialect.literal("")
    return [
        dialect.if_else(differs, dialect.literal(", " + json_list([name])[1:-1]), empty) for name, differs in changed
    ]


def noticed(changed: Sequence[tuple[str, Sql]], rules: TableRules) -> Sql:
    """The condition that a column changed that the rules do not ignore."""
    return chained(" or ", [differs for name, differs in changed if name not in rules.ignored] or [FALSE])


def _changed(dialect: CaptureDialect, columns: Sequence[Column]) -> list[tuple[str, Sql]]:
    """In PostgreSQL's order: JSON columns come last."""
    ordered = sorted(columns, key=lambda column: (column.kind == "json", column.name))
    return [(column.name, dialect.differs(column)) for column in ordered]


def _capped(dialect: CaptureDialect, row: RowName, column: Column, rules: TableRules, *, is_text: bool) -> Sql:
    limit = rules.audited.max_value_bytes
    if limit is None:
        return dialect.text(row, column) if is_text else dialect.json(row, column)
    return dialect.capped_text(row, column, limit) if is_text else dialect.capped_json(row, column, limit)


def _choice(dialect: CaptureDialect, conditions: Sequence[Sql | None]) -> Sql:
    branches = [
        sql("when {} then {}", sql("1 = 1") if condition is None else condition, dialect.literal(number))
        for number, condition in enumerate(conditions)
    ]
    return sql("case {} end", joined(" ", branches))


def _chosen(dialect: CaptureDialect, number: Sql | None, expressions: Sequence[Sql]) -> Sql:
    """The expression of the applicable rule: the first if there is no choice. It is null if all are null."""
    if number is None:
        return expressions[0] if expressions else NULL
    branches = [
        sql("when {} then {}", dialect.literal(index), each) for index, each in enumerate(expressions) if each != NULL
    ]
    return sql("case {} {} end", number, joined(" ", branches)) if branches else NULL


def _description(dialect: CaptureDialect, rules: TableRules, rows: Rows, rule: EnrichmentRule) -> Sql:
    if rule.description is None:
        return NULL
    return dialect.concat([_part(dialect, rules, rows, part) for part in description.parse(rule.description)])


def _part(dialect: CaptureDialect, rules: TableRules, rows: Rows, part: str | description.Value) -> Sql:
    if isinstance(part, str):
        return dialect.literal(part)
    if part.column is None:
        return dialect.variable("actor_id" if part.source == "actor_id" else "tenant_id")
    row = rows.named("before" if part.source == "before" else "after")
    if row is None:
        return NULL
    return _capped(dialect, row, rows.columns[part.column], rules, is_text=True)
