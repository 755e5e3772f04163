"""The triggers that a configuration asks for in a SQLite database."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from svc_pg.capture.patterns import resolve
from svc_pg.capture.rules import TableRules, check_pattern, rules_for
from svc_pg.capture.sqlite.catalog import SCHEMA, read_tables, table_names
from svc_pg.capture.sqlite.guards import guards
from svc_pg.capture.sqlite.table import SqliteTable
from svc_pg.capture.sqlite.triggers import capture_objects
from svc_pg.config import Config
from svc_pg.schema.unsupported import refuse_unsupported
from svc_pg.schema_objects import SchemaObject
from svc_pg.table_names import TableName


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """A table and its rules."""

    facts: SqliteTable
    rules: TableRules


def audited_tables(cursor: sqlite3.Cursor, config: Config) -> Mapping[TableName, AuditedTable]:
    """The tables to record, by name. Raises ConfigError, and UnknownTableError that names every missing table."""
    refuse_unsupported(
        config,
        "SQLite",
        [
            f'table "{table.name}": on_error = "warn" needs a handler of errors'
            for table in config.audit.tables
            if table.on_error == "warn"
        ],
    )
    wanted = resolve(config.audit.tables, table_names(cursor), default_schema=SCHEMA)
    found = read_tables(cursor, wanted)
    for pattern in config.audit.tables:
        check_pattern(pattern, [found[name].table for name in wanted if wanted[name] is pattern])
    return {name: AuditedTable(found[name], rules_for(found[name].table, rules)) for name, rules in wanted.items()}


def target_of(cursor: sqlite3.Cursor, config: Config) -> list[SchemaObject]:
    """The guards of the log, then the triggers of each table. Raises as ``audited_tables``."""
    captured = [
        item
        for each in audited_tables(cursor, config).values()
        for item in capture_objects(each.facts, each.rules, unattributed=config.audit.unattributed)
    ]
    return [*guards(), *captured]
