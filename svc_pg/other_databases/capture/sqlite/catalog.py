"""Read the facts of tables from the catalog of SQLite."""

import sqlite3
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Final

from svc_pg.capture.table import Table, did_you_mean, refuse_unknown
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import UnknownTableError
from svc_pg.other_databases.capture.capture_dialect import Column, Kind
from svc_pg.other_databases.capture.sqlite.definitions import json_columns, names_in_column
from svc_pg.other_databases.capture.sqlite.own_tables import OWN_TABLES
from svc_pg.other_databases.capture.sqlite.table import ROWIDS, SqliteTable, UniqueKey, trigger_name

SCHEMA: Final = "main"
_KINDS: Final = {"view": "a view", "virtual": "a virtual table", "shadow": "a part of a virtual table"}
_HIDDEN: Final = 1
"""The ``hidden`` in table_xinfo of hidden columns of virtual tables; generated columns have 2 and 3."""
_EXPRESSION: Final = -2
"""The ``cid`` of an expression in index_xinfo."""
_RELATIONS: Final = statement("sqlite/queries/relations.sql")
_UNSEEN: Final = statement("sqlite/queries/unseen_keys.sql")
"""Unique indexes that are partial or on expressions."""


def read_tables(cursor: sqlite3.Cursor, names: Iterable[TableName]) -> dict[TableName, SqliteTable]:
    """The facts of tables, in the given order. Raises UnknownTableError naming each that is not a user's table."""
    wanted = list(dict.fromkeys(names))
    relations = {name: facts for name, *facts in cursor.execute(_RELATIONS).fetchall()}
    problems = [problem for name in wanted if (problem := _problem(cursor, name, relations))]
    refuse_unknown(problems)
    return {name: _read(cursor, name, *relations[name.table][1:]) for name in wanted}


def table_names(cursor: sqlite3.Cursor) -> list[TableName]:
    """The user's tables, in order."""
    relations = cursor.execute(_RELATIONS).fetchall()
    return [TableName(SCHEMA, name) for name, kind, *_ in relations if kind == "table" and name not in OWN_TABLES]


def _problem(cursor: sqlite3.Cursor, name: TableName, relations: dict[str, Any]) -> UnknownTableError | None:
    if name.schema != SCHEMA:
        return UnknownTableError(
            f'table "{name}" is not in the main database',
            hint="Of attached databases nothing is recorded: install into each of them, and name main.table.",
        )
    if name.table in OWN_TABLES:
        return UnknownTableError(f'table "{name}" belongs to svc-pg')
    if name.table not in relations:
        return UnknownTableError(f'table "{name}" does not exist', hint=_moved(cursor, name) or _near(name, relations))
    kind = relations[name.table][0]
    if kind != "table":
        return UnknownTableError(f'"{name}" is {_KINDS.get(kind, kind)}, which has no triggers', hint="Name a table.")
    return None


def _moved(cursor: sqlite3.Cursor, name: TableName) -> str | None:
    """The hint for a renamed table, whose triggers still record it under its old name."""
    found = cursor.execute(
        "select tbl_name from main.sqlite_schema where type = 'trigger' and name = ?", (trigger_name("insert", name),)
    ).fetchone()
    return f"It is now {TableName(SCHEMA, found[0])}: name it so." if found else None


def _near(name: TableName, relations: dict[str, Any]) -> str | None:
    spelled = {table.casefold(): table for table in relations if table not in OWN_TABLES}
    near = [f"{SCHEMA}.{spelled[match]}" for match in get_close_matches(name.table.casefold(), spelled, cutoff=0.8)]
    return did_you_mean(near)


def _read(
    cursor: sqlite3.Cursor, name: TableName, is_without_rowid: int, is_strict: int, definition: str
) -> SqliteTable:
    checked = json_columns(definition)
    columns, key, generated = [], [], {}
    rows = cursor.execute("select * from pragma_table_xinfo(?, 'main')", (name.table,)).fetchall()
    for _, column, declared, _, _, position, hidden in rows:
        if hidden == _HIDDEN:
            continue
        columns.append(Column(column, _kind(column, declared, checked, is_strict=bool(is_strict))))
        if position:
            key.append((position, column, declared))
        if hidden:
            names = names_in_column(definition, column)
            generated[column] = [other for _, other, *_ in rows if other.lower() in names]
    key.sort()
    unique = list(_unique(cursor, name.table))
    rowid = None if is_without_rowid else _rowid(cursor, name.table, [column.name for column in columns], key)
    names_of_key = [column for _, column, _ in key]
    if rowid is not None and rowid in names_of_key:  # an alias of the rowid holds integers alone
        columns = [Column(each.name, "number") if each.name == rowid else each for each in columns]
        unique.append(UniqueKey([(rowid, "BINARY")], is_rowid=True))
    table = Table(
        name=name,
        columns=[column.name for column in columns],
        json_columns=[column.name for column in columns if column.kind == "json"],
        key=names_of_key,
        virtual=[],
        unique=[[column for column, _ in each.columns] for each in unique],
        is_partitioned=False,
        partitions=[],
        parent=None,
        generated=generated,
    )
    row_key = [rowid] if rowid else names_of_key or table.columns
    return SqliteTable(table, columns, unique, row_key, [name for (name,) in cursor.execute(_UNSEEN, (name.table,))])


def _kind(column: str, declared: str, checked: set[str], *, is_strict: bool) -> Kind:
    if is_strict and declared.upper() in ("INT", "INTEGER"):
        return "number"
    if "json" in declared.lower() or column.lower() in checked:
        return "json"
    return "boolean" if declared.lower().startswith("bool") else "any"


def _rowid(cursor: sqlite3.Cursor, table: str, columns: list[str], key: list[Any]) -> str | None:
    """The column that is the rowid, or a free name of the rowid; None if columns have all its names."""
    if len(key) == 1 and key[0][2].upper() == "INTEGER" and not _has_index_of_key(cursor, table):
        return str(key[0][1])
    taken = {column.lower() for column in columns}
    return next((name for name in ROWIDS if name not in taken), None)


def _has_index_of_key(cursor: sqlite3.Cursor, table: str) -> bool:
    """True of INTEGER PRIMARY KEY DESC, which is no alias of the rowid."""
    found = cursor.execute("select 1 from pragma_index_list(?, 'main') where origin = 'pk'", (table,))
    return found.fetchone() is not None


def _unique(cursor: sqlite3.Cursor, table: str) -> Iterator[UniqueKey]:
    """The keys of unique indexes over columns. Partial indexes and indexes on expressions are left out."""
    indexes = cursor.execute(
        "select name from pragma_index_list(?, 'main') where \"unique\" and not partial order by name", (table,)
    ).fetchall()
    seen = set()
    for (index,) in indexes:
        members = cursor.execute(
            "select cid, name, coll from pragma_index_xinfo(?, 'main') where key order by seqno", (index,)
        ).fetchall()
        columns = tuple((column, collation) for _, column, collation in members)
        if columns not in seen and all(cid != _EXPRESSION for cid, *_ in members):
            seen.add(columns)
            yield UniqueKey(columns)
