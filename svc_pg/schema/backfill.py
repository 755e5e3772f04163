"""Record the rows that tables had before they were audited: a SNAPSHOT entry for each row."""

from typing import Any

from psycopg import Connection

from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.postgres.patterns import resolve
from svc_pg.capture.postgres.triggers import snapshot_sql
from svc_pg.capture.rules import rules_for
from svc_pg.config import Config
from svc_pg.schema.transactions import Patience, locked, transaction


def backfill(conn: Connection[Any], config: Config) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row that the log does not know; return the number for each table.

    A row is known if the last entry of its record is anything but a DELETE or TRUNCATE. So a second run writes nothing,
    and rows of a partition that was attached in between are found. A table without a key is written only while
    it has no entries. Run it after ``install``, on a connection outside a transaction: one transaction for each table,
    which waits for its writers and lets them wait.
    """
    with transaction(conn):
        audited = resolve(conn, config.audit.tables)
        tables = read_tables(conn, audited)
    written = {}
    for name, table in tables.items():
        with locked(conn, Patience()):
            cursor = conn.execute(snapshot_sql(rules_for(table, audited[name])).encode())
            while cursor.nextset():
                pass
            written[str(name)] = cursor.rowcount
    return written
