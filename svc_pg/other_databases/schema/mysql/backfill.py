"""Record the rows that tables had before they were audited: a SNAPSHOT entry for each row."""

from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection, execute, rows
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.table import MySqlTable
from svc_pg.other_databases.capture.mysql.triggers import snapshot_sql
from svc_pg.other_databases.schema.mysql.diagnosis import diagnose
from svc_pg.other_databases.schema.mysql.session import locked, patiently, pinned
from svc_pg.other_databases.schema.mysql.target import audited_tables
from svc_pg.rendering.sql_text import sql
from svc_pg.schema.install_waits import FOR_INSTALL, FOR_TABLE

_TRUNCATED: Final = "select coalesce(max(id), 0) from svc.audit_logs where table_name = %s and operation = 'TRUNCATE'"


def backfill(conn: DbApiConnection, config: Config) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row missing from the log; return the number for each table.

    Each table has one transaction, which waits for its writers and then blocks them.
    """
    with pinned(conn) as server, locked(conn, FOR_INSTALL, FOR_TABLE):
        dialect = MySql(server.is_mariadb)
        audited, _ = audited_tables(conn, server, config)
        return {str(name): _write(conn, dialect, name, *facts) for name, facts in audited.items()}


def _write(conn: DbApiConnection, dialect: MySql, name: TableName, table: MySqlTable, rules: TableRules) -> int:
    def write() -> int:
        try:
            return _write_once(conn, dialect, name, table, rules)
        except Exception:
            execute(conn, "rollback")
            raise

    try:
        return patiently(write)
    except Exception as error:
        raise diagnose(error, table=str(name)) from error


def _write_once(conn: DbApiConnection, dialect: MySql, name: TableName, table: MySqlTable, rules: TableRules) -> int:
    """Lock all rows, and then read the log, so that its entries match the rows."""
    execute(conn, "set transaction isolation level read committed")  # each statement sees all changes committed before
    execute(conn, "start transaction")
    quoted = sql("{}.{}", dialect.ident(name.schema), dialect.ident(name.table))
    rows(conn, sql("select count(*) from {} lock in share mode", quoted).text)
    [(truncated,)] = rows(conn, _TRUNCATED, (str(name),))
    written = execute(conn, snapshot_sql(dialect, table, rules, truncated=int(truncated)))
    execute(conn, "commit")
    return written
