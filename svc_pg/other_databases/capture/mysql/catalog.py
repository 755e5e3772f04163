"""Read the facts of tables from the catalog of MySQL or MariaDB."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, LiteralString

from svc_pg.capture.table import Table, did_you_mean, refuse_unknown
from svc_pg.database.dbapi import DbApiConnection, rows
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import AccessError, ConfigError, UnknownTableError
from svc_pg.other_databases.capture.capture_dialect import Kind
from svc_pg.other_databases.capture.mysql.table import MySqlColumn, MySqlTable

_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year"), "number"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"), "bytes"),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"), "shape"),
    **dict.fromkeys(("multipolygon", "geometrycollection", "geomcollection"), "shape"),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"), "text"),
    "json": "json",
    "date": "date",
    "datetime": "datetime",
    "timestamp": "timestamp",
    "time": "time",
    "bit": "bits",
}
"""The kinds of types; values of others, for example MariaDB's uuid and inet6, are texts."""
_LARGE: Final = ("mediumblob", "longblob", "mediumtext", "longtext", "json")
_LABEL: Final = re.compile("'((?:[^']|'')*)'")
_MOST_LABELS: Final = 500
_JSON_CHECK: Final = re.compile(r"json_valid\(`((?:[^`]|``)+)`\)")
"""The constraint that makes a text a JSON column on MariaDB."""
_TABLES: Final = """
select t.table_schema, t.table_name, t.table_type, coalesce(e.transactions, 'NO')
  from information_schema.tables t left join information_schema.engines e on e.engine = t.engine
 where t.table_schema in ({})
"""
_COLUMNS: Final = statement("mysql/queries/columns.sql")
"""The columns, except the period of a system-versioned table: the log has the time of each change."""
_KEYS: Final = """
select table_schema, table_name, index_name, column_name, nullable, sub_part
  from information_schema.statistics
 where table_schema in ({}) and non_unique = 0 order by table_schema, table_name, index_name, seq_in_index
"""
_FOREIGN: Final = """
select table_schema, table_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
  from information_schema.key_column_usage where referenced_table_name is not null
"""
_CHECKS: Final = """
select constraint_schema, table_name, check_clause from information_schema.check_constraints
 where constraint_schema in ({})
"""
_TABLE_KINDS: Final = ("BASE TABLE", "SYSTEM VERSIONED")  # of MariaDB, which keeps their old rows
_SYSTEM: Final = ("svc", "mysql", "information_schema", "performance_schema", "sys")


def holes(template: LiteralString, values: Sequence[object]) -> LiteralString:
    """Put a placeholder for each parameter into the hole of a query."""
    return template.format(", ".join(["%s"] * len(values)))


def table_names(conn: DbApiConnection, database: str) -> list[TableName]:
    """The tables of a database, in order."""
    found = rows(conn, holes(_TABLES, [database]), (database,))
    return sorted(TableName(schema, name) for schema, name, kind, _ in found if kind in _TABLE_KINDS)


def read_tables(conn: DbApiConnection, names: Iterable[TableName], *, is_mariadb: bool) -> dict[TableName, MySqlTable]:
    """The facts of tables, in the given order.

    Raises UnknownTableError naming each that is not a user's table, ConfigError if the engine of one has no
    transactions, because a failed write would keep its rows and lose its entries, and AccessError without SELECT on
    one.
    """
    wanted = list(dict.fromkeys(names))
    schemas = sorted({name.schema for name in wanted})
    if not schemas:
        return {}
    tables = {
        TableName(schema, name): (kind, has_transactions)
        for schema, name, kind, has_transactions in rows(conn, holes(_TABLES, schemas), schemas)
    }
    problems = [problem for name in wanted if (problem := _problem(name, tables))]
    refuse_unknown(problems)
    for name in wanted:
        if tables[name][1] != "YES":
            raise ConfigError(
                f'table "{name}" has an engine without transactions', hint="Use InnoDB: alter table ... engine = InnoDB"
            )
    checks = rows(conn, holes(_CHECKS, schemas), schemas) if is_mariadb else []
    json_columns = {
        (TableName(schema, table), match[1].replace("``", "`"))
        for schema, table, clause in checks
        if (match := _JSON_CHECK.fullmatch(clause))
    }
    columns = _grouped(rows(conn, holes(_COLUMNS, schemas), schemas))
    for name in wanted:
        if name not in columns:
            raise AccessError(
                f'the user may not see the columns of table "{name}"',
                hint="Grant select on the databases of audited tables.",
            )
    keys = _grouped(rows(conn, holes(_KEYS, schemas), schemas))
    linked: dict[TableName, set[str]] = {}
    for schema, table, column, to_schema, to_table, to_column in rows(conn, _FOREIGN) if is_mariadb else ():
        linked.setdefault(TableName(schema, table), set()).add(column)
        linked.setdefault(TableName(to_schema, to_table), set()).add(to_column)
    return {
        name: _table(name, columns[name], keys.get(name, []), json_columns, linked.get(name, set())) for name in wanted
    }


def _grouped(found: Iterable[Sequence[Any]]) -> dict[TableName, list[Sequence[Any]]]:
    tables: dict[TableName, list[Sequence[Any]]] = {}
    for schema, name, *facts in found:
        tables.setdefault(TableName(schema, name), []).append(facts)
    return tables


def _table(
    name: TableName,
    facts: Sequence[Sequence[Any]],
    keys: Sequence[Sequence[Any]],
    json_columns: set[tuple[TableName, str]],
    linked: set[str],
) -> MySqlTable:
    columns = [_column(fact, is_json=(name, fact[0]) in json_columns) for fact in facts]
    own = {None, *(column.name for column in columns)}
    keys = [key for key in keys if key[1] in own]  # the end of a row's period is in each key of its table
    unique: dict[str, list[str]] = {}
    partial = {index for index, column, nullable, part in keys if column is None or nullable == "YES" or part}
    for index, column, _, _ in keys:
        unique.setdefault(index, []).append(column)
    table = Table(
        name=name,
        columns=[column.name for column in columns],
        json_columns=[column.name for column in columns if column.kind == "json"],
        key=unique.get("PRIMARY", []),
        virtual=[],
        unique=[names for index, names in unique.items() if index not in partial],
        is_partitioned=False,
        partitions=[],
        parent=None,
        generated=_generated(facts),
    )
    parts = {index for index, column, _, part in keys if column is None or part}
    nullable = {column for _, column, is_nullable, _ in keys if is_nullable == "YES"}
    whole = [names for index, names in unique.items() if index not in parts]
    return MySqlTable(
        table,
        columns,
        sorted({column for _, column, *_ in keys if column} | linked),
        sorted(whole, key=lambda names: (not nullable.isdisjoint(names), names != table.key, len(names))),
        nullable,
    )


def _column(fact: Sequence[Any], *, is_json: bool) -> MySqlColumn:
    name, kind, declared, charset, collation, bits, digits, _ = fact
    is_boolean = declared == "tinyint(1)"
    return MySqlColumn(
        name,
        "boolean" if is_boolean else "json" if is_json else _KINDS.get(kind, "text"),
        int((bits if kind == "bit" else digits) or 0),
        is_utf8=charset in ("utf8mb4", "utf8mb3", "utf8") and kind not in ("enum", "set"),
        is_float=kind == "float",
        is_padded=kind == "year" or "zerofill" in declared,
        is_large=kind in _LARGE,
        is_listed=kind in ("enum", "set"),
        labels=labels_of(declared) if kind == "enum" and charset != "binary" else (),
        charset=charset,
        collation=collation,
    )


def labels_of(declared: str) -> Sequence[str]:
    """The labels of an enum.

    None if they are very many, have signs that servers write in ways of their own, or one is empty: as a value is
    that is none of the enum.
    """
    if "\\" in declared or not declared.isprintable():
        return ()
    labels = [label.replace("''", "'") for label in _LABEL.findall(declared.removeprefix("enum"))]
    return labels if len(labels) <= _MOST_LABELS and "" not in labels else ()


def _generated(facts: Sequence[Sequence[Any]]) -> Mapping[str, list[str]]:
    """The columns that each generated column depends on, directly or not."""
    names = [fact[0] for fact in facts]
    direct = {
        name: [each for each in names if expression and f"`{each.replace('`', '``')}`" in expression]
        for name, *_, expression in facts
    }
    found: dict[str, list[str]] = {}
    for name, sources in direct.items():
        reached, waiting = set[str](), list(sources)
        while waiting:
            source = waiting.pop()
            if source not in reached:
                reached.add(source)
                waiting += direct[source]
        if reached:
            found[name] = sorted(reached)
    return found


def _problem(name: TableName, tables: Mapping[TableName, tuple[str, str]]) -> UnknownTableError | None:
    if name.schema in _SYSTEM:
        return UnknownTableError(f'table "{name}" belongs to {"svc-pg" if name.schema == "svc" else "the server"}')
    if name not in tables:
        spelled = {str(table).casefold(): str(table) for table in tables}
        near = [spelled[match] for match in get_close_matches(str(name).casefold(), spelled, n=3, cutoff=0.8)]
        return UnknownTableError(f'table "{name}" does not exist', hint=did_you_mean(near))
    kind, _ = tables[name]
    if kind not in _TABLE_KINDS:
        return UnknownTableError(f'"{name}" is a {kind.lower()}, not a table', hint="Name the tables below it.")
    return None
