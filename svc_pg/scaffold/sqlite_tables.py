"""Read the tables of a SQLite database for a proposal."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from svc_pg.capture.table import Table
from svc_pg.database.dialects import driver_connection
from svc_pg.other_databases.capture.sqlite.catalog import SCHEMA, read_tables, table_names
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.rendering.templates import render_for
from svc_pg.scaffold.candidates import SAMPLE_CHARACTERS, SAMPLE_ROWS, Candidate, Found, by_column


def reader_on(conn: Any) -> "SqliteTables":
    """The reader of a connection's database."""
    return SqliteTables(driver_connection(conn))


class SqliteTables:
    """A ``Reader``."""

    default_schema = SCHEMA
    has_events = False

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def find(self) -> Found:
        """The tables of the main database."""
        with closing(self.conn.cursor()) as cursor:
            tables = read_tables(cursor, table_names(cursor))
            unique = {name: _without_null(cursor, each.table) for name, each in tables.items()}
        return Found(
            [
                Candidate(
                    replace(each.table, unique=unique[name]),
                    {column.name: "text" for column in each.columns if column.kind not in ("boolean", "number")},
                    {column.name: "text" for column in each.columns if column.kind == "any"},
                )
                for name, each in tables.items()
            ],
            {},
        )

    def sample(self, candidate: Candidate) -> Mapping[str, Sequence[str]] | None:
        """The first values, which need no bound of time: they are read in the order of the table."""
        if not candidate.sampled:
            return {}
        query = render_for(
            Sqlite(),
            "scaffold/sqlite_sample.sql.j2",
            columns=list(candidate.sampled),
            table=candidate.name.table,
            characters=SAMPLE_CHARACTERS,
            rows=SAMPLE_ROWS,
        )
        try:
            with closing(self.conn.cursor()) as cursor:
                return by_column(list(candidate.sampled), cursor.execute(query).fetchall())
        except sqlite3.Error:
            return None


def _without_null(cursor: sqlite3.Cursor, table: Table) -> list[list[str]]:
    """The columns of each unique index that lets no NULL in."""
    found = cursor.execute("select name from pragma_table_info(?, 'main') where \"notnull\"", (table.name.table,))
    filled = {name for (name,) in found.fetchall()}
    return [columns for columns in table.unique if filled.issuperset(columns)]
