"""Record the rows that tables had before they were audited: a SNAPSHOT entry for each row."""

import sqlite3
from datetime import timedelta
from typing import Final

from svc_pg.capture.sqlite.triggers import snapshot_sql
from svc_pg.config import Config
from svc_pg.errors import InstallError
from svc_pg.schema.sqlite.install import PATIENCE
from svc_pg.schema.sqlite.session import reading, writing
from svc_pg.schema.sqlite.target import audited_tables
from svc_pg.table_names import TableName

_ASKED: Final = ("svc_hash", "svc_context")


def backfill(conn: sqlite3.Connection, config: Config, *, wait: timedelta = PATIENCE) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row that the log does not know; return the number for each table.

    One transaction for each table, in which nobody else can write.
    """
    with reading(conn) as cursor:
        names = list(audited_tables(cursor, config))
    return {str(name): _write(conn, config, name, wait) for name in names}


def _write(conn: sqlite3.Connection, config: Config, name: TableName, wait: timedelta) -> int:
    with writing(conn, wait=wait) as cursor:
        each = audited_tables(cursor, config)[name]
        try:
            cursor.execute(snapshot_sql(each.facts, each.rules, unattributed=config.audit.unattributed))
        except sqlite3.OperationalError as error:
            if not any(f"no such function: {function}" in str(error) for function in _ASKED):
                raise
            raise InstallError(
                f"this connection cannot record {name}: {error}",
                hint="Its rules hash a column, or refuse writers without an actor: wrap the connection with_audit.",
            ) from error
        return cursor.rowcount
