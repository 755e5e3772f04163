"""The triggers that a configuration asks for in a SQLite database."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from svc_pg.capture.patterns import resolve
from svc_pg.capture.rules import TableRules, check_pattern, rules_for
from svc_pg.config import Config
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.sqlite.catalog import SCHEMA, read_tables, table_names
from svc_pg.other_databases.capture.sqlite.guards import guards
from svc_pg.other_databases.capture.sqlite.table import SqliteTable
from svc_pg.other_databases.capture.sqlite.triggers import capture_objects
from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.schema.unsupported import refuse_unsupported


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A table and its rules."""

    facts: SqliteTable
    rules: TableRules


def audited_tables(cursor: sqlite3.Cursor, config: Config) -> Mapping[TableName, CapturedTable]:
    """The tables to record, by name. Raises ConfigError, and UnknownTableError that names every missing table."""
    refuse_unsupported(
        config,
        "SQLite",
        [
            f'table "{table.name}": on_error = "warn" needs a handler of errors'
            for table in config.audit.tables
            if table.on_error == "warn"
        ]
        + [f'table "{table.name}": record_reads = true' for table in config.audit.tables if table.record_reads],
    )
    wanted = resolve(config.audit.tables, table_names(cursor), default_schema=SCHEMA)
    found = read_tables(cursor, wanted)
    for pattern in config.audit.tables:
        check_pattern(pattern, [found[name].table for name in wanted if wanted[name] is pattern])
    return {name: CapturedTable(found[name], rules_for(found[name].table, rules)) for name, rules in wanted.items()}


class Target(NamedTuple):
    """The guards of the log and then the triggers of each table, and the limits of capture by the names of tables."""

    objects: list[SchemaObject]
    limits: dict[str, str]


def target_of(cursor: sqlite3.Cursor, config: Config) -> Target:
    """Render everything. Raises as ``audited_tables``."""
    audited = audited_tables(cursor, config)
    captured = [
        item
        for each in audited.values()
        for item in capture_objects(each.facts, each.rules, unattributed=config.audit.unattributed)
    ]
    limits = {str(name): "; ".join(_limits(each)) for name, each in audited.items()}
    return Target([*guards(), *captured], {name: text for name, text in limits.items() if text})


def _limits(table: CapturedTable) -> Iterator[str]:
    if table.rules.is_hashed:
        yield 'redact = "hash" needs with_audit: on other connections every write fails, because SQLite has no SHA-256'
    if table.facts.unseen:
        names = ", ".join(table.facts.unseen)
        yield f"rows that REPLACE deletes by {names} are not recorded: a unique index with WHERE or on an expression"
