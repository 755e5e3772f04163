"""Resolve the names and patterns of the audit log's rules to the tables of a PostgreSQL database."""

from typing import Any

from psycopg import Connection

from svc_pg.capture import patterns
from svc_pg.capture.postgres.catalog import table_names
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import TableName


def resolve(conn: Connection[Any], wanted: list[AuditedTable]) -> dict[TableName, AuditedTable]:
    """As ``svc_pg.capture.patterns.resolve``. Partitions are left to their parents."""
    return patterns.resolve(wanted, table_names(conn))
