"""Audit logs in SQLite, MariaDB and MySQL, with entries as triggers would write them."""

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import aiosqlite
import asyncmy

from svc_pg import schema
from svc_pg.audit import AuditQuery
from svc_pg.config import Config
from svc_pg.database.dialects import dialect_of
from svc_pg.other_databases.schema.mysql.install import install
from tests.support.mysql import MySqlServer
from tests.support.selections import NOW

Kind = Literal["sqlite", "mariadb", "mysql"]


@dataclass(frozen=True, slots=True)
class Log:
    """A log. ``schema`` is the schema of unqualified tables, and ``at`` its file or server."""

    schema: str
    at: Path | MySqlServer

    @property
    def name(self) -> str:
        """The name of the log's table in statements."""
        return "svc_audit_logs" if isinstance(self.at, Path) else "svc.audit_logs"

    @property
    def url(self) -> str:
        """The address for ``--database-url``."""
        return f"sqlite:///{self.at}" if isinstance(self.at, Path) else self.at.address(self.schema)

    def connect(self) -> Any:
        """A connection of sqlite3 or PyMySQL, which commits each statement."""
        if isinstance(self.at, Path):
            return sqlite3.connect(self.at, timeout=30, isolation_level=None)
        return self.at.connect(self.schema)

    @asynccontextmanager
    async def connect_async(self) -> AsyncIterator[Any]:
        """Enter to get a connection of aiosqlite or asyncmy, which commits each statement."""
        if isinstance(self.at, Path):
            async with aiosqlite.connect(self.at, timeout=30, isolation_level=None) as of_file:
                yield of_file
            return
        conn: Any = await asyncmy.connect(
            host="127.0.0.1", port=self.at.port, user="root", db=self.schema, autocommit=True
        )
        try:
            yield conn
        finally:
            await conn.ensure_closed()

    def write(self, conn: Any, record: str | None, **columns: Any) -> None:
        """Write an entry with these columns; lists and mappings become JSON."""
        values = {
            "table_name": f"{self.schema}.t",
            "operation": "UPDATE",
            "record_id": record,
            "timestamp": NOW + timedelta(minutes=int(record)) if record and record.isdecimal() else NOW,
        } | columns
        is_sqlite = dialect_of(conn) == "sqlite"
        marks = ", ".join(["?" if is_sqlite else "%s"] * len(values))
        with closing(conn.cursor()) as cursor:
            cursor.execute(
                f"insert into {self.name} ({', '.join(values)}) values ({marks})",
                [self._stored(value) for value in values.values()],
            )

    def _stored(self, value: Any) -> Any:
        if isinstance(value, datetime):
            text = f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"
            return text.replace(" ", "T") + "Z" if isinstance(self.at, Path) else text
        return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def sqlite_log(file: Path) -> Log:
    """A new log in a file."""
    with closing(sqlite3.connect(file)) as conn:
        schema.install(conn, Config())
    return Log("main", file)


@contextmanager
def mysql_log(server: MySqlServer) -> Iterator[Log]:
    """Enter to get a new log on a server; leaving drops it."""
    with server.new_database() as name:
        with server.connect(name) as conn:
            install(conn, Config())
        yield Log(name, server)


def records(conn: Any, query: AuditQuery) -> list[str | None]:
    """The records of a page of entries."""
    return [entry.record_id for entry in query.list(conn)]
