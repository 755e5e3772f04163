"""Record the rows that tables had before they were audited: a SNAPSHOT entry for each row."""

import sqlite3
from datetime import timedelta

from svc_pg.capture.sqlite.triggers import snapshot_sql
from svc_pg.config import Config
from svc_pg.schema.sqlite.install import PATIENCE
from svc_pg.schema.sqlite.session import reading, writing
from svc_pg.schema.sqlite.target import audited_tables
from svc_pg.table_names import TableName


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
        cursor.execute(snapshot_sql(each.facts, each.rules, unattributed=config.audit.unattributed))
        return cursor.rowcount
