"""Render triggers for the actions of foreign keys, which fire no triggers of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from svc_pg.capture.rules import TableRules
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.other_databases.capture.capture_dialect import VERBS, Column, Operation, RowName
from svc_pg.other_databases.capture.entry_sql import NULL, EntrySql, changed_fields, entry_sql, noticed
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.foreign_keys import ForeignKey, Way, ways_to
from svc_pg.other_databases.capture.mysql.table import MySqlTable
from svc_pg.other_databases.capture.mysql.triggers import trigger_object, undone
from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.rendering.sql_text import Sql, joined, sql

Audited = Mapping[TableName, tuple[MySqlTable, TableRules]]

_CHILD = sql("child")


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one audited table and operation that an event of a table above causes."""

    table: TableName
    e: EntrySql
    changed_fields: Sql
    where: Sql

    @property
    def has_key(self) -> bool:
        """True if a key identifies rows."""
        return self.e.record_id != NULL

    @property
    def table_name(self) -> str:
        """The table as entries name it."""
        return str(self.table)


def roots(
    audited: Mapping[TableName, AuditedTable], keys: Mapping[TableName, Sequence[ForeignKey]]
) -> dict[TableName, list[Way]]:
    """The tables that need triggers, each with its ways. Raises the errors of ``ways_to``."""
    found: dict[TableName, list[Way]] = {}
    for name, rules in audited.items():
        if rules.cascades == "recorded":
            for way in ways_to(name, keys):
                found.setdefault(way.root, []).append(way)
    return found


def cascade_objects(dialect: MySql, root: MySqlTable, ways: Sequence[Way], audited: Audited) -> list[SchemaObject]:
    """The triggers of one table above.

    Before a deletion the rows below still exist, but the deletion may yet fail: so their entries are kept, and move to
    the log after it. After an update the rows below are those with the new references.
    """
    made = []
    name = root.table.name
    deletions = _entries(dialect, [way for way in ways if way.event == "DELETE"], audited)
    if deletions:
        session = _variables(dialect, name)
        values = {"verb": VERBS["DELETE"], "entries": deletions, "is_hashed": _is_hashed(deletions, audited), **session}
        made.append(_object("keep", name, deletions, dialect, cause=str(name), **values))
        # on MySQL 9.7, a REPLACE whose row has the key of the one that it deletes leaves the rows below as they were
        spared = [] if dialect.is_mariadb else deletions
        made.append(_object("cascade_delete", name, deletions, dialect, spared=spared, **session))
    updates = [way for way in ways if way.event == "UPDATE"]
    entries = _entries(dialect, updates, audited)
    if entries:
        columns = {column.name: column for column in root.columns}
        moved = sorted({referenced for way in updates for _, referenced in way.steps[0].columns})
        made.append(
            _object(
                "cascade_update",
                name,
                entries,
                dialect,
                entries=entries,
                moves=joined(" or ", [dialect.differs(columns[column]) for column in moved]),
                undone=undone(dialect, root) if dialect.is_mariadb else None,
                is_hashed=_is_hashed(entries, audited),
            )
        )
    return made


def _variables(dialect: MySql, root: TableName) -> dict[str, Sql]:
    """The session variables with the first and the last number of the kept entries."""
    digest = sha256(str(root).encode()).hexdigest()[:10]
    return {name: sql("@{}", dialect.ident(f"svc_{name}_{digest}")) for name in ("first", "last")}


def _object(kind: str, root: TableName, caused: Sequence[Entries], dialect: MySql, **values: object) -> SchemaObject:
    """A trigger, recorded as one of the first audited table below."""
    made = trigger_object(dialect, kind, root, f"mysql/capture/{kind}.sql.j2", **values)
    return replace(made, audited_table=str(min(each.table for each in caused)))


def _is_hashed(entries: Sequence[Entries], audited: Audited) -> bool:
    return any(audited[each.table][1].is_hashed for each in entries)


def _entries(dialect: MySql, ways: Sequence[Way], audited: Audited) -> list[Entries]:
    by_table: dict[TableName, list[Way]] = {}
    for way in ways:
        by_table.setdefault(way.steps[-1].child, []).append(way)
    made = []
    for name, together in sorted(by_table.items()):
        gone = [_reached(dialect, way, "old") for way in together if way.event == "DELETE" and not way.sets_null]
        if gone:
            made.append(_of_rows(dialect, audited[name], "DELETE", {}, _any(gone)))
        changed = [way for way in together if way.event == "UPDATE" or way.sets_null]
        if changed:
            made.append(_changes(dialect, audited[name], changed, gone))
    return made


def _changes(
    dialect: MySql, audited: tuple[MySqlTable, TableRules], ways: Sequence[Way], gone: Sequence[Sql]
) -> Entries:
    """The entries of rows whose references change, except rows that are deleted as well."""
    table, _ = audited
    values: dict[tuple[RowName, str], Sql] = {}
    reached = []
    for way in ways:
        row: RowName = "new" if way.sets_null else "old"
        condition = _reached(dialect, way, "old" if way.sets_null else "new")
        reached.append(condition)
        for column, source in _sources(dialect, way):
            _refuse_computed(table, column, way)
            otherwise = values.get((row, column), sql("{}.{}", _CHILD, dialect.ident(column)))
            values[row, column] = sql("if({}, {}, {})", condition, source, otherwise)
    where = _any(reached) if not gone else sql("{} and {} is not true", _any(reached), _any(gone))
    return _of_rows(dialect, audited, "UPDATE", values, where)


def _of_rows(
    dialect: MySql,
    audited: tuple[MySqlTable, TableRules],
    operation: Operation,
    values: Mapping[tuple[RowName, str], Sql],
    where: Sql,
) -> Entries:
    table, rules = audited
    rows = MySql(dialect.is_mariadb, old=_CHILD, new=_CHILD, values=values)
    columns: Sequence[Column] = table.columns
    entry = entry_sql(rows, rules, columns, operation, has_variable=False)
    touched = {column for _, column in values}
    pairs = [pair for pair in entry.changed if pair[0] in touched]
    changed = changed_fields(rows, pairs)
    if touched.intersection(rules.ignored):
        where = sql("{} and ({})", where, noticed(pairs, rules))
    if entry.recorded is not None:
        where = sql("{} and {}", where, entry.recorded)
    fields = sql("concat('[', substr(concat({}), 3), ']')", joined(", ", changed)) if changed else NULL
    return Entries(rules.table.name, entry, fields, where)


def _reached(dialect: MySql, way: Way, row: RowName) -> Sql:
    """The condition that the row ``child`` refers to the row above by this way, as nested ``exists``."""
    names = [sql("{}", _CHILD), *(sql("{}", dialect.ident(f"above{n}")) for n in range(1, len(way.steps)))]
    names.append(sql("old") if row == "old" else sql("new"))
    condition: Sql | None = None
    for depth in reversed(range(len(way.steps))):
        step = way.steps[len(way.steps) - 1 - depth]
        lower, upper = names[depth], names[depth + 1]
        equal = [
            sql("{}.{} = {}.{}", lower, dialect.ident(column), upper, dialect.ident(referenced))
            for column, referenced in step.columns
        ]
        if condition is None:
            condition = sql("({})", joined(" and ", equal))
        else:
            condition = sql(
                "exists (select 1 from {}.{} {} where {} and {})",
                dialect.ident(step.parent.schema),
                dialect.ident(step.parent.table),
                upper,
                joined(" and ", equal),
                condition,
            )
    assert condition is not None  # noqa: S101 - a way has a step
    return condition


def _sources(dialect: MySql, way: Way) -> list[tuple[str, Sql]]:
    """The columns that change, each with a value: NULL for the row after, or the upper row's for the row before."""
    if way.sets_null:
        return [(column, NULL) for column, _ in way.steps[-1].columns]
    known: dict[str, Sql] = {
        referenced: sql("old.{}", dialect.ident(referenced)) for _, referenced in way.steps[0].columns
    }
    for step in way.steps:
        known = {column: known[referenced] for column, referenced in step.columns if referenced in known}
    return list(known.items())


def _refuse_computed(table: MySqlTable, column: str, way: Way) -> None:
    """Raise ConfigError if a column is computed from a reference: its value before the change is lost."""
    for computed, sources in table.table.generated.items():
        if column in sources:
            raise ConfigError(
                f'table "{table.table.name}": "{computed}" is computed from "{column}", which foreign key'
                f" {way.steps[-1].name} changes",
                hint='Set cascades = "unrecorded" for the table, and know that such changes are in no entry.',
            )


def _any(conditions: Sequence[Sql]) -> Sql:
    return sql("({})", joined(" or ", conditions))
