"""Resolve the names and patterns of the audit log's rules to tables."""

from typing import Any

from psycopg import Connection

from svc_pg.capture.postgres.catalog import table_names
from svc_pg.config import AuditedTable
from svc_pg.errors import ConfigError, UnknownTableError
from svc_pg.table_names import TableName


def resolve(conn: Connection[Any], wanted: list[AuditedTable]) -> dict[TableName, AuditedTable]:
    """The rules of each table: a pattern stands for every table that it covers and that no rule names.

    Partitions are left to their parents. Raises ConfigError if two patterns cover a table, UnknownTableError if one
    covers none.
    """
    named = {TableName.parse(rules.name): rules for rules in wanted if not rules.is_pattern}
    found = table_names(conn)
    covered: dict[TableName, AuditedTable] = {}
    for rules in wanted:
        if not rules.is_pattern:
            continue
        tables = [table for table in found if rules.matches(str(table))]
        if not tables:
            raise UnknownTableError(f'no table matches "{rules.name}"', hint="Patterns are compared with schema.table.")
        if twice := [table for table in tables if table in covered]:
            raise ConfigError(
                f'two patterns cover "{twice[0]}": {covered[twice[0]].name} and {rules.name}',
                hint="Exclude it from one of them, or name the table itself.",
            )
        covered |= dict.fromkeys(tables, rules)
    return covered | named
