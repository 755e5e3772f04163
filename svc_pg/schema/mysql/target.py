"""The triggers that a configuration asks for on MySQL or MariaDB."""

from dataclasses import dataclass

from svc_pg.capture.mysql.cascades import Audited, cascade_objects, roots
from svc_pg.capture.mysql.catalog import read_tables, table_names
from svc_pg.capture.mysql.expressions import MySql
from svc_pg.capture.mysql.foreign_keys import read_foreign_keys
from svc_pg.capture.mysql.triggers import capture_objects
from svc_pg.capture.patterns import resolve
from svc_pg.capture.rules import check_pattern, rules_for
from svc_pg.config import Config
from svc_pg.dbapi import DbApiConnection
from svc_pg.render import render_for
from svc_pg.schema.mysql.session import Server
from svc_pg.schema.unsupported import refuse_unsupported
from svc_pg.schema_objects import SchemaObject
from svc_pg.sql_text import sql


@dataclass(frozen=True, slots=True)
class Target:
    """The audited tables with their rules, and the triggers."""

    tables: Audited
    objects: list[SchemaObject]


def target_of(conn: DbApiConnection, server: Server, config: Config) -> Target:
    """Render everything. Raises UnknownTableError, which names every missing table, and ConfigError."""
    others = ['audit.unattributed = "refuse"'] if config.audit.unattributed == "refuse" else []
    refuse_unsupported(config, "MariaDB" if server.is_mariadb else "MySQL", others)
    audited = resolve(config.audit.tables, table_names(conn, server.database), default_schema=server.database)
    tables = read_tables(conn, audited, is_mariadb=server.is_mariadb)
    for pattern in config.audit.tables:
        check_pattern(pattern, [tables[name].table for name in audited if audited[name] is pattern])
    dialect = MySql(server.is_mariadb)
    fitted = {name: (table, rules_for(table.table, audited[name])) for name, table in tables.items()}
    captures = [item for table, rules in fitted.values() for item in capture_objects(dialect, table, rules)]
    return Target(fitted, [*guards(), *captures, *_cascades(conn, dialect, fitted)])


def _cascades(conn: DbApiConnection, dialect: MySql, audited: Audited) -> list[SchemaObject]:
    """The triggers of the tables above, whether they are audited themselves or not."""
    ways = roots(audited, read_foreign_keys(conn))
    tables = read_tables(conn, sorted(ways), is_mariadb=dialect.is_mariadb)
    return [item for name, table in tables.items() for item in cascade_objects(dialect, table, ways[name], audited)]


def guards() -> list[SchemaObject]:
    """The triggers that keep the log append-only: all that an uninstall leaves beside the data."""
    return [
        SchemaObject(
            "trigger",
            f"{name} on svc.audit_logs",
            render_for(
                MySql(), "mysql/capture/guard_trigger.sql.j2", trigger=("svc", name), verb=verb, is_delete=is_delete
            ),
        )
        for name, verb, is_delete in (
            ("audit_guard_update", sql("update"), False),
            ("audit_guard_delete", sql("delete"), True),
        )
    ]
