"""Read the tables of a MySQL or MariaDB database for a proposal."""

from collections.abc import Mapping, Sequence
from typing import Any

from svc_pg.database.dbapi import execute, rows
from svc_pg.database.dialects import driver_connection
from svc_pg.database.table_names import TableName
from svc_pg.errors import AccessError, ConfigError
from svc_pg.other_databases.capture.mysql.catalog import read_tables, table_names
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.table import MySqlTable
from svc_pg.rendering.templates import render_for
from svc_pg.scaffold.candidates import SAMPLE_CHARACTERS, SAMPLE_ROWS, Candidate, Found, Values, by_column


def reader_on(conn: Any) -> "MySqlTables":
    """The reader of a connection's database."""
    return MySqlTables(driver_connection(conn))


class MySqlTables:
    """A ``Reader``."""

    has_events = False

    def __init__(self, conn: Any) -> None:
        self.conn = conn
        [(database, version)] = rows(conn, "select database(), version()")
        self.default_schema: str = database
        self._is_mariadb = "mariadb" in version.lower()

    def find(self) -> Found:
        """The tables of the connection's database. Those of an engine without transactions are left out."""
        names = table_names(self.conn, self.default_schema)
        left_out: dict[TableName, str] = {}
        try:
            tables = self._read(names)
        except (AccessError, ConfigError):
            tables = {}
            for name in names:
                try:
                    tables |= self._read([name])
                except (AccessError, ConfigError) as error:
                    left_out[name] = error.message
        return Found([_candidate(each) for each in tables.values()], left_out)

    def _read(self, names: Sequence[TableName]) -> dict[TableName, MySqlTable]:
        return read_tables(self.conn, names, is_mariadb=self._is_mariadb)

    def sample(self, candidate: Candidate) -> Mapping[str, Sequence[str]] | None:
        """The first values, which need no bound of time: they are read in the order of the table."""
        if not candidate.sampled:
            return {}
        query = render_for(
            MySql(is_mariadb=self._is_mariadb),
            "scaffold/mysql_sample.sql.j2",
            columns=list(candidate.sampled),
            table=candidate.name.table,
            characters=SAMPLE_CHARACTERS,
            rows=SAMPLE_ROWS,
        )
        try:
            execute(self.conn, "start transaction read only")
            return by_column(list(candidate.sampled), rows(self.conn, query))
        except Exception as error:
            if type(error).__module__ != "pymysql.err" or not self.conn.open:
                raise
            return None
        finally:
            if self.conn.open:
                self.conn.rollback()


def _candidate(found: MySqlTable) -> Candidate:
    sorts: dict[str, Values] = {
        column.name: "number" if column.kind == "number" else "text"
        for column in found.columns
        if column.kind in ("text", "number", "json", "bytes")
    }
    sampled: dict[str, Values] = {
        column.name: sorts[column.name] for column in found.columns if column.kind in ("text", "number")
    }
    return Candidate(found.table, sorts, sampled)
