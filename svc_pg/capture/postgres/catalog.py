"""Read the facts of tables from the catalog of PostgreSQL."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, LiteralString

from psycopg import Connection

from svc_pg.capture.table import Table, did_you_mean, refuse_unknown
from svc_pg.database import effects
from svc_pg.database.effects import Effects
from svc_pg.database.query import Query, RawJson, fetch
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import UnknownTableError
from svc_pg.rendering.schema_objects import names_of
from svc_pg.rendering.templates import render

_KINDS: Final = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "i": "an index", "S": "a sequence"}
_TABLES: Final = "rp"  # pg_class.relkind of an ordinary and of a partitioned table


@dataclass(frozen=True, slots=True)
class _Relation:
    schema: str
    table: str
    kind: str
    columns: list[str]
    types: RawJson
    domains: list[str]
    json_columns: list[str]
    holds_json: bool
    has_simple_types: bool
    generated: RawJson
    virtual: list[str]
    printed: list[str]
    printed_lists: list[str]
    key: list[str]
    unique: RawJson
    keys_may_repeat: bool
    partitions: list[list[str]]
    parent: list[str] | None
    inherits: bool


_NAMES: Final[LiteralString] = """
select n.nspname as schema, c.relname as "table"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$|svc$)'
"""
TABLE_NAMES: Final = Query(_NAMES + " and not c.relispartition order by 1, 2", (), TableName)
_RECORDED_AS: Final = statement("queries/capture/recorded_as.sql")


def read_tables(conn: Connection[Any], names: Iterable[TableName]) -> dict[TableName, Table]:
    """The facts of tables, in the given order. Raises UnknownTableError naming each that is not a user's table."""
    return effects.run(reading_tables(names), partial(fetch, conn))


def reading_tables(names: Iterable[TableName]) -> Effects[dict[TableName, Table]]:
    """The effects of ``read_tables``."""
    wanted = list(dict.fromkeys(names))
    params = [name.schema for name in wanted], [name.table for name in wanted]
    relations = yield Query(render("installed/tables.sql.j2"), params, _Relation)
    found = {TableName(relation.schema, relation.table): relation for relation in relations}
    problems = []
    for name in wanted:
        problem = yield from _problem(name, found.get(name))
        problems += [problem] if problem else []
    refuse_unknown(problems)
    return {name: _table(name, found[name]) for name in wanted}


def _problem(name: TableName, relation: _Relation | None) -> Effects[UnknownTableError | None]:
    if name.schema == "svc":
        return UnknownTableError(f'table "{name}" belongs to svc-pg')
    if relation is None:
        hint = (yield from _moved(name)) or (yield from _near(name))
        return UnknownTableError(f'table "{name}" does not exist', hint=hint)
    if relation.kind not in _TABLES:
        return UnknownTableError(
            f'"{name}" is {_KINDS.get(relation.kind, "of another kind")}, not a table',
            hint="Name the tables below it.",
        )
    return None


def _table(name: TableName, relation: _Relation) -> Table:
    return Table(
        name=name,
        columns=[column for column in relation.columns if column not in relation.virtual],
        types=relation.types.value,
        domains=relation.domains,
        json_columns=relation.json_columns,
        holds_json=relation.holds_json,
        has_simple_types=relation.has_simple_types,
        generated=relation.generated.value,
        printed=relation.printed,
        printed_lists=relation.printed_lists,
        key=relation.key,
        virtual=relation.virtual,
        unique=relation.unique.value,
        keys_may_repeat=relation.keys_may_repeat,
        is_partitioned=relation.kind == "p",
        partitions=[TableName(*partition) for partition in relation.partitions],
        parent=None if relation.parent is None else TableName(*relation.parent),
        inherits=relation.inherits,
    )


def table_names(conn: Connection[Any]) -> list[TableName]:
    """The user's tables, in order; partitions are left to their parents."""
    return fetch(conn, TABLE_NAMES)


def _moved(name: TableName) -> Effects[str | None]:
    """The hint for a renamed table, whose triggers still record it under its old name."""
    found = yield Query(_RECORDED_AS, (names_of(name).capture,), TableName)
    return next((f"It is now {table}: name it so." for table in found), None)


def _near(name: TableName) -> Effects[str | None]:
    tables = yield Query(_NAMES, (), TableName)
    spelled = {str(table).casefold(): str(table) for table in tables}
    near = [spelled[match] for match in get_close_matches(str(name).casefold(), spelled, n=3, cutoff=0.8)]
    near += [str(table) for table in tables if table.table == name.table and str(table) not in near]
    return did_you_mean(near)
