"""Put on record what was in audited tables before their changes were: a SNAPSHOT entry for each row."""

from typing import Any

from psycopg import Connection

from svc_pg.capture.postgres.catalog import read_table
from svc_pg.capture.postgres.patterns import resolve
from svc_pg.capture.postgres.triggers import snapshot_sql
from svc_pg.config import Config
from svc_pg.schema.transactions import Patience, locked, transaction


def backfill(conn: Connection[Any], config: Config) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row that the log does not know; return how many, by table.

    A row is known where the last entry of its record is anything but a DELETE or TRUNCATE, so running it again writes
    nothing, and rows of a partition that was attached meanwhile are found. A table without a key is written only while
    it has no entries. Run it after ``install``, on a connection outside a transaction: one transaction for each table,
    which waits for its writers and lets them wait.
    """
    with transaction(conn):
        tables = [(read_table(conn, name), rules) for name, rules in resolve(conn, config.audit.tables).items()]
    written = {}
    for table, rules in tables:
        with locked(conn, Patience()):
            cursor = conn.execute(snapshot_sql(table, rules).encode())
            while cursor.nextset():
                pass
            written[str(table.name)] = cursor.rowcount
    return written
