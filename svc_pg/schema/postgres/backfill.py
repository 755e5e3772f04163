"""Record the rows that tables had before they were audited: a SNAPSHOT entry for each row."""

from typing import Any

from psycopg import Connection, Error
from psycopg.sql import SQL, Identifier

from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.postgres.code_of_others import check_planned
from svc_pg.capture.postgres.patterns import resolve
from svc_pg.capture.postgres.triggers import snapshot_sql
from svc_pg.capture.rules import rules_for
from svc_pg.config import AuditedTable, Config
from svc_pg.errors import ConfigError
from svc_pg.schema.postgres.diagnosis import diagnose
from svc_pg.schema.postgres.transactions import Patience, locked, transaction
from svc_pg.table_names import TableName


def backfill(conn: Connection[Any], config: Config) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row that the log does not know; return the number for each table.

    A row is known if the last entry of its record is anything but a DELETE, and the table was not truncated after it.
    So a second run writes nothing, and rows of a partition that was attached in between are found. Of a table without a
    key all rows are written, if it has no entries since it was last truncated; of a partitioned one, if it has none.
    A table with ``record_when`` gets the entries of those rows whose INSERT would be recorded.

    Run it after ``install``, on a connection outside a transaction: one transaction for each table, which waits for its
    writers and lets them wait. Raises the errors of ``install`` if the configuration does not fit the tables, and
    InstallError if a right is missing: for row security, too, which would hide rows; and if the planner would run code
    of others, such as the function of an index, with the rights of this connection. A ``record_when`` in SQL is refused
    for the same reason, before anything is written.
    """
    with transaction(conn):
        audited = resolve(conn, config.audit.tables)
        read_tables(conn, audited)
    for name, rules in audited.items():
        if rules.record_when is not None and rules.record_when.has_sql:
            raise ConfigError(
                f'table "{name}": record_when has SQL, which a backfill does not run: it would have your rights',
                hint="Write the condition with before, after and changed, or leave the table out of the backfill.",
            )
    written = {}
    for name, rules in audited.items():
        try:
            with locked(conn, Patience()):
                written[str(name)] = _write(conn, name, rules)
        except Error as error:
            raise diagnose(conn, error, table=str(name)) from error
    return written


def _write(conn: Connection[Any], name: TableName, rules: AuditedTable) -> int:
    conn.execute(SQL("lock table {} in share row exclusive mode").format(Identifier(*name)))
    table = read_tables(conn, [name])[name]
    check_planned(conn, name)
    cursor = conn.execute(snapshot_sql(rules_for(table, rules)).encode())
    while cursor.nextset():
        pass
    return cursor.rowcount
