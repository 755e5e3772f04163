"""Render the triggers that record the changes of one table of SQLite."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.config.audit import Unattributed
from svc_pg.other_databases.capture.capture_dialect import OPERATIONS, VERBS, Column, Operation
from svc_pg.other_databases.capture.entry_sql import (
    NULL,
    EntrySql,
    changed_fields,
    entry_sql,
    moved_from,
    noticed,
    record_id,
    snapshot,
)
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.other_databases.capture.sqlite.table import ROWIDS, SqliteTable, UniqueKey, trigger_name
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import Sql, chained, joined, sql
from svc_pg.rendering.templates import render_for

_DIALECT: Final = Sqlite()
_STORED: Final = Sqlite(new=sql('"svc row"'))
_REPLACING: Final[tuple[Operation, ...]] = ("INSERT", "UPDATE")
# printf() without arguments is documented to be NULL, so a connection that svc-pg does not wrap is recorded without an
# actor; a function that SQLite does not have makes its writes fail
_CONTEXT_FUNCTIONS: Final[dict[Unattributed, Sql]] = {"record": sql("printf()"), "refuse": sql("svc_context()")}


def capture_objects(
    table: SqliteTable, rules: TableRules, *, unattributed: Unattributed = "record"
) -> list[SchemaObject]:
    """The triggers before changes, the triggers after them, and those that record replaced rows before the new one.

    In this order, because SQLite fires the newest first: capture precedes older triggers of the application.
    """
    context = _CONTEXT_FUNCTIONS[unattributed]
    after = [_after(table, rules, operation, context) for operation in OPERATIONS]
    after = [replace(trigger, leaves_out=rules.leaves_out, title=rules.title) for trigger in after]
    if not table.unique:
        return after
    before = [_before(table, rules, operation, context) for operation in _REPLACING]
    return [*before, *after, *(_replaced(table, rules, operation) for operation in _REPLACING)]


def snapshot_sql(table: SqliteTable, rules: TableRules, *, unattributed: Unattributed = "record") -> str:
    """The statement that writes a SNAPSHOT entry for each row missing from the log."""
    entry = entry_sql(_STORED, rules, table.columns, "INSERT")
    return render_for(
        _STORED,
        "sqlite/capture/snapshot.sql.j2",
        table=rules.table.name.table,
        table_name=str(rules.table.name),
        has_key=bool(rules.key),
        record_id=entry.record_id,
        after=entry.after,
        redacted=entry.redacted,
        recorded=entry.recorded,
        context_function=_CONTEXT_FUNCTIONS[unattributed],
    )


def _after(table: SqliteTable, rules: TableRules, operation: Operation, context: Sql) -> SchemaObject:
    dialect = Sqlite(context=context)
    entry = entry_sql(dialect, rules, table.columns, operation, has_variable=False)
    parts = changed_fields(_DIALECT, entry.changed)
    return _trigger(
        rules,
        operation.lower(),
        "sqlite/capture/trigger.sql.j2",
        verb=VERBS[operation],
        e=entry,
        condition=_condition(entry, rules),
        changed_fields=sql("'[' || substr({}, 3) || ']'", chained(" || ", parts)) if parts else NULL,
        actor=dialect.actor(),
        is_kept=_is_kept(table, rules) if operation == "DELETE" and table.unique else None,
        ignored=json.dumps(rules.ignored) if rules.leaves_out and operation == "UPDATE" else None,
        is_conditional=int(rules.audited.record_when is not None),
    )


def _condition(entry: EntrySql, rules: TableRules) -> Sql | None:
    """The condition for a change to have an entry; None if each has one."""
    if not entry.changed:
        return entry.recorded
    differs = noticed(entry.changed, rules)
    return differs if entry.recorded is None else sql("({}) and {}", differs, entry.recorded)


def _replaced(table: SqliteTable, rules: TableRules, operation: Operation) -> SchemaObject:
    """The trigger that moves entries of rows that REPLACE has deleted to the log."""
    return _trigger(
        rules,
        f"replaced_{operation.lower()}",
        "sqlite/capture/replaced_trigger.sql.j2",
        verb=VERBS[operation],
        moved_from=moved_from(_DIALECT, _key(table, rules)),
        conflicts=_conflicts(table, operation),
        # an update that changes no key replaces nothing, and may be of a row that was kept in vain
        moves=_moves(table) if operation == "UPDATE" else None,
        has_lost_key=_has_lost_key(table, rules) if operation == "UPDATE" else None,
        is_kept=_is_kept(table, rules),
        image=snapshot(_DIALECT, "new", rules, table.columns) if operation == "UPDATE" else None,
    )


def _before(table: SqliteTable, rules: TableRules, operation: Operation, context: Sql) -> SchemaObject:
    """The trigger that keeps the rows that REPLACE may delete."""
    dialect = Sqlite(old=sql("victim"), context=context)
    is_update = operation == "UPDATE"
    matches = [_matches(key) for key in table.unique]
    found = [_only(matches[number], matches[:number]) for number in range(len(matches))]
    branches = _branches(table, rules, list(zip(matches, _each_conflict(table, operation), strict=True)))
    return _trigger(
        rules,
        f"before_{operation.lower()}",
        "sqlite/capture/replace_trigger.sql.j2",
        event=_event(table, operation),
        e=entry_sql(dialect, rules, table.columns, "DELETE", has_variable=False),
        victims=[sql("{} and {}", each, _is_another(table)) for each in found] if is_update else found,
        moves=_moves(table) if is_update else None,
        conflict=sql("case {} end", joined(" ", [sql("when {} then {}", *branch) for branch in branches])),
        conflicts=_conflicts(table, operation),
        actor=dialect.actor(),
    )


def _trigger(rules: TableRules, kind: str, template: str, **values: object) -> SchemaObject:
    name, table_name = trigger_name(kind, rules.table.name), str(rules.table.name)
    text = render_for(_DIALECT, template, trigger=name, table=rules.table.name.table, table_name=table_name, **values)
    return SchemaObject("trigger", str(Trigger(name, rules.table.name)), text, audited_table=table_name)


def _matches(key: UniqueKey) -> Sql:
    """True if a row of the table has the new row's key, by the collations of the index."""
    equal = [
        sql("victim.{0} = new.{0} collate {1}", _DIALECT.ident(name), _DIALECT.ident(collation))
        for name, collation in key.columns
    ]
    return sql("({})", chained(" and ", equal))


def _only(match: Sql, others: Sequence[Sql]) -> Sql:
    """True if a row has this match, and none of the others."""
    return chained(" and ", [match, *(sql("{} is not true", other) for other in others)])


def _is_another(table: SqliteTable) -> Sql:
    """True if a row of the table is not the updated one."""
    parts = [sql("victim.{0} is not old.{0}", _DIALECT.ident(name)) for name in table.row_key]
    return sql("({})", chained(" or ", parts))


def _event(table: SqliteTable, operation: Operation) -> Sql:
    """The event that fires the trigger. Updates that change no key do not fire it, because of its cost.

    SQLite compares the names in a statement with these, so all names of the rowid are listed.
    """
    if operation != "UPDATE":
        return VERBS[operation]
    rowids = ROWIDS if any(key.is_rowid for key in table.unique) else ()
    names = dict.fromkeys([*_key_columns(table), *rowids])
    return sql("update of {}", joined(", ", [_DIALECT.ident(name) for name in names]))


def _moves(table: SqliteTable) -> Sql:
    """True if an update changes a key, or a source column of a computed one."""
    return sql("({})", _changes(_key_columns(table)))


def _key_columns(table: SqliteTable) -> Sequence[str]:
    """The columns of all keys, and the sources of computed ones.

    In a BEFORE UPDATE trigger, SQLite computes a column from the columns that the trigger names; others are NULL.
    """
    names = {name for key in table.unique for name, _ in key.columns}
    while computed := {source for name in names for source in table.table.generated.get(name, ())} - names:
        names |= computed
    return sorted(names)


def _changes(names: Sequence[str]) -> Sql:
    """True if an update changes one of these columns."""
    return chained(" or ", [sql("old.{0} is not new.{0} collate binary", _DIALECT.ident(name)) for name in names])


def _branches(table: SqliteTable, rules: TableRules, branches: Sequence[tuple[Sql, Sql]]) -> Sequence[tuple[Sql, Sql]]:
    """The keys to identify a row that REPLACE may delete: its rowid first, which hardly any trigger changes.

    Redacted keys come last: their values are forgotten.
    """
    redacted = _redacted_keys(table, rules)
    given = [
        (sql("new.{} <> -1 and {}", _DIALECT.ident(key.columns[0][0]), match), conflict)
        for key, (match, conflict) in zip(table.unique, branches, strict=True)
        if key.is_rowid  # or else it is the number of a row that SQLite has yet to give
    ]
    numbers = sorted(range(len(branches)), key=lambda number: (table.unique[number].is_rowid, number in redacted))
    return [*given, *(branches[number] for number in numbers)]


def _redacted_keys(table: SqliteTable, rules: TableRules) -> Sequence[int]:
    return [
        number
        for number, key in enumerate(table.unique)
        if not rules.redacted_columns.isdisjoint(name for name, _ in key.columns)
    ]


def _key(table: SqliteTable, rules: TableRules) -> Sequence[Column]:
    by_name = {column.name: column for column in table.columns}
    return [by_name[name] for name in rules.key]


def _has_lost_key(table: SqliteTable, rules: TableRules) -> Sql:
    """True of an entry kept for a key that the updated row no longer has: REPLACE does not delete the row by it."""
    lost = [
        sql(
            "({}) and substr(conflict, 1, instr(conflict, ':')) in ({})",
            _changes([name for name, _ in key.columns]),
            joined(", ", [_DIALECT.literal(f"{operation} {number}:") for operation in _REPLACING]),
        )
        for number, key in enumerate(table.unique)
    ]
    return sql("{} and ({})", _is_kept(table, rules), chained(" or ", lost))


def _is_kept(table: SqliteTable, rules: TableRules) -> Sql:
    """True of the entry kept for the row before the update."""
    if key := _key(table, rules):
        return sql("record_id is {}", record_id(_DIALECT, "old", key))
    return sql("before_data = {}", snapshot(_DIALECT, "old", rules, table.columns))


def _conflicts(table: SqliteTable, operation: Operation) -> Sql:
    return joined(", ", _each_conflict(table, operation))


def _each_conflict(table: SqliteTable, operation: Operation) -> Sequence[Sql]:
    """The new row's value of each key, as text, different for the INSERT and for the UPDATE of one upsert."""
    return [
        sql(
            "{} || {}",
            _DIALECT.literal(f"{operation} {number}:"),
            chained(" || ',' || ", [sql("quote(new.{})", _DIALECT.ident(name)) for name, _ in key.columns]),
        )
        for number, key in enumerate(table.unique)
    ]
