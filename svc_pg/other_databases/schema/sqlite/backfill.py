"""Record the rows that tables had before they were audited: a SNAPSHOT entry for each row."""

import sqlite3

from svc_pg.capture.rules import rules_for
from svc_pg.config import AuditedTable, Config
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.sqlite.catalog import read_tables
from svc_pg.other_databases.capture.sqlite.triggers import snapshot_sql
from svc_pg.other_databases.schema.sqlite.session import reading, writing
from svc_pg.other_databases.schema.sqlite.target import audited_tables
from svc_pg.schema.install_waits import FOR_TABLE


def backfill(conn: sqlite3.Connection, config: Config) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row missing from the log; return the number for each table.

    Each table has one transaction, in which no other session can write.
    """
    with reading(conn) as cursor:
        tables = audited_tables(cursor, config)
    return {str(name): _write(conn, config, name, each.rules.audited) for name, each in tables.items()}


def _write(conn: sqlite3.Connection, config: Config, name: TableName, audited: AuditedTable) -> int:
    with writing(conn, wait=FOR_TABLE) as cursor:
        facts = read_tables(cursor, [name])[name]  # as they are now
        rules = rules_for(facts.table, audited)
        cursor.execute(snapshot_sql(facts, rules, unattributed=config.audit.unattributed))
        return cursor.rowcount
