"""Read the tables of a PostgreSQL database for a proposal: by the catalog, and by a bounded sample of values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import Connection, sql
from psycopg.rows import tuple_row

from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.table import Table
from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.scaffold.candidates import (
    SAMPLE_CHARACTERS,
    SAMPLE_MILLISECONDS,
    SAMPLE_ROWS,
    Candidate,
    Found,
    Values,
    by_column,
)

_TABLES: Final = statement("queries/scaffold/readable_tables.sql")
_BOUNDS: Final = """
select pg_catalog.set_config('transaction_read_only', 'on', true),
       pg_catalog.set_config('statement_timeout', %s, true), pg_catalog.set_config('lock_timeout', %s, true),
       pg_catalog.set_config('row_security', 'off', true),  -- which makes a policy an error, and not a call of its code
       pg_catalog.set_config('search_path', 'pg_catalog', true)
"""
_FEW_PAGES: Final = 1000
_SAMPLED_PAGES: Final = 100
_TABLES_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class _Readable:
    schema: str
    table: str
    is_ordinary: bool
    pages: int
    is_secured: bool
    readable: list[str]
    nearly_key: list[str]
    extension: str | None


def reader_on(conn: Connection[Any]) -> "PostgresTables":
    """The reader of a connection's database."""
    return PostgresTables(conn)


class PostgresTables:
    """A ``Reader``."""

    default_schema = DEFAULT_SCHEMA
    has_events = True

    def __init__(self, conn: Connection[Any]) -> None:
        self.conn = conn
        self._pages: dict[TableName, int] = {}

    def find(self) -> Found:
        """The tables of users; partitions are left to their parents."""
        with self.conn.transaction():
            found = {
                TableName(each.schema, each.table): each for each in fetch(self.conn, Query(_TABLES, (), _Readable))
            }
            own = [name for name, each in found.items() if each.extension is None]
            tables: dict[TableName, Table] = {}
            for start in range(0, len(own), _TABLES_AT_ONCE):
                tables |= read_tables(self.conn, own[start : start + _TABLES_AT_ONCE])
        self._pages = {name: each.pages if each.is_ordinary else 0 for name, each in found.items()}
        left_out = {
            name: f"part of the extension {each.extension}"
            for name, each in found.items()
            if each.extension is not None
        }
        return Found([_candidate(table, found[name]) for name, table in tables.items()], left_out)

    def sample(self, candidate: Candidate) -> Mapping[str, Sequence[str]] | None:
        """Values from random pages of a large table, else from the first; in a read-only transaction of its own."""
        columns = list(candidate.sampled)
        if not columns:
            return {}
        for statement_ in self._statements(candidate.name, columns):
            try:
                with self.conn.transaction(), self.conn.cursor(row_factory=tuple_row) as cursor:
                    cursor.execute(_BOUNDS, [str(SAMPLE_MILLISECONDS), str(SAMPLE_MILLISECONDS)])
                    found = cursor.execute(statement_).fetchall()
            except psycopg.Error:
                if self.conn.closed:
                    raise
                return None
            if found:
                return by_column(columns, found)
        return {}

    def _statements(self, name: TableName, columns: list[str]) -> Iterator[sql.Composed]:
        values = sql.SQL(", ").join(
            sql.SQL("pg_catalog.left({}::pg_catalog.text, {})").format(sql.Identifier(column), SAMPLE_CHARACTERS)
            for column in columns
        )
        table = sql.Identifier(*name)
        if (pages := self._pages.get(name, 0)) > _FEW_PAGES:
            yield sql.SQL("select {} from {} tablesample system ({}) limit {}").format(
                values, table, 100 * _SAMPLED_PAGES / pages, SAMPLE_ROWS
            )
        yield sql.SQL("select {} from {} limit {}").format(values, table, SAMPLE_ROWS)


def _candidate(table: Table, found: _Readable) -> Candidate:
    named = {column: sort for column in table.columns if (sort := _sort(table.types[column]))}
    # a cast of another type than the server's own could run code of the type's owner
    plain = {
        column: sort
        for column, sort in named.items()
        if column not in table.printed and not table.types[column].endswith(("]", "json", "jsonb", "bytea", "uuid"))
    }
    if found.is_secured:
        return Candidate(table, named, {}, "row security hides its rows", found.nearly_key)
    allowed = {column: sort for column, sort in plain.items() if column in found.readable}
    unread = "no right to read it" if len(allowed) < len(plain) else None
    return Candidate(table, named, allowed, unread, found.nearly_key)


def _sort(type_: str) -> Values | None:
    """The sort of a type as the catalog prints it, for example ``character varying(20)``."""
    if type_.startswith(("text", "character", "json", "bytea", "uuid")):
        return "text"
    return "number" if type_.startswith(("bigint", "numeric")) else None
