"""The triggers that a configuration asks for on MySQL or MariaDB."""

from collections.abc import Sequence
from typing import NamedTuple

from svc_pg.capture.patterns import resolve
from svc_pg.capture.rules import check_pattern, rules_for
from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection
from svc_pg.other_databases.capture.log_ids import HIGHEST_ID
from svc_pg.other_databases.capture.mysql.cascades import Audited, cascade_objects, roots
from svc_pg.other_databases.capture.mysql.catalog import read_tables, table_names
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.foreign_keys import Way, read_foreign_keys
from svc_pg.other_databases.capture.mysql.table import MySqlTable
from svc_pg.other_databases.capture.mysql.triggers import capture_objects
from svc_pg.other_databases.schema.mysql.session import Server
from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.rendering.sql_text import sql
from svc_pg.rendering.templates import render_for
from svc_pg.schema.unsupported import refuse_unsupported


class Above(NamedTuple):
    """A table from which foreign keys change audited ones, and the ways from it."""

    table: MySqlTable
    ways: Sequence[Way]


def audited_tables(conn: DbApiConnection, server: Server, config: Config) -> tuple[Audited, list[Above]]:
    """The tables to record, and the tables above them, audited or not.

    Raises ConfigError, and UnknownTableError that names every missing table.
    """
    others = ['audit.unattributed = "refuse"'] if config.audit.unattributed == "refuse" else []
    others += [f'table "{table.name}": record_reads = true' for table in config.audit.tables if table.record_reads]
    refuse_unsupported(config, "MariaDB" if server.is_mariadb else "MySQL", others)
    audited = resolve(config.audit.tables, table_names(conn, server.database), default_schema=server.database)
    ways = roots(audited, read_foreign_keys(conn))
    tables = read_tables(conn, [*audited, *sorted(ways)], is_mariadb=server.is_mariadb)
    for pattern in config.audit.tables:
        check_pattern(pattern, [tables[name].table for name in audited if audited[name] is pattern])
    fitted = {name: (tables[name], rules_for(tables[name].table, rules)) for name, rules in audited.items()}
    return fitted, [Above(tables[name], ways[name]) for name in sorted(ways)]


def target_of(conn: DbApiConnection, server: Server, config: Config) -> list[SchemaObject]:
    """The guards of the log, then the triggers of tables and of tables above them. Raises as ``audited_tables``."""
    dialect = MySql(server.is_mariadb)
    audited, above = audited_tables(conn, server, config)
    captures = [item for table, rules in audited.values() for item in capture_objects(dialect, table, rules)]
    cascades = [item for each in above for item in cascade_objects(dialect, each.table, each.ways, audited)]
    return [*guards(), *captures, *cascades]


def guards() -> list[SchemaObject]:
    """The triggers that keep the log append-only, which an uninstall leaves together with the data."""
    return [
        SchemaObject(
            "trigger",
            f"{name} on svc.audit_logs",
            render_for(
                MySql(),
                "mysql/capture/guard_trigger.sql.j2",
                trigger=("svc", name),
                verb=verb,
                is_delete=is_delete,
                highest_id=HIGHEST_ID,
            ),
        )
        for name, verb, is_delete in (
            ("audit_guard_update", sql("update"), False),
            ("audit_guard_delete", sql("delete"), True),
        )
    ]
