"""Tables to audit on MySQL and MariaDB, and the entries of their changes."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pymysql

from svc_pg.config import AuditConfig, AuditedTable, Config
from svc_pg.database.dbapi import execute, rows
from svc_pg.other_databases.schema.mysql.install import install

Connection: TypeAlias = "pymysql.Connection[Any]"

_JSON = ("before_data", "after_data", "changed_fields", "compliance", "redacted_fields", "context")


def run(conn: Connection, *statements: str) -> None:
    """Run statements in order."""
    for statement in statements:
        execute(conn, statement)


def audit(conn: Connection, *ddl: str, tables: Sequence[str] | Mapping[str, Any] = ("t",), **rules: Any) -> Config:
    """Recreate tables, and record their changes alone from now on; returns the configuration.

    All tables have the same rules, unless ``tables`` gives each its own.
    """
    own = tables if isinstance(tables, Mapping) else dict.fromkeys(tables, rules)
    audited = [AuditedTable.model_validate({"name": name} | values) for name, values in own.items()]
    config = Config(audit=AuditConfig(tables=audited))
    remake(conn, *ddl)
    install(conn, config, prune=True)
    purge(conn)
    return config


def remake(conn: Connection, *ddl: str) -> None:
    """Drop all tables of the database, then run the DDL."""
    names = rows(conn, "select table_name from information_schema.tables where table_schema = database()")
    run(conn, "set foreign_key_checks = 0", *(f"drop table `{name.replace('`', '``')}`" for (name,) in names))
    run(conn, "set foreign_key_checks = 1", *ddl)


def purge(conn: Connection) -> None:
    """Empty the log."""
    run(conn, "set @svc_purge_before = '9999-01-01'", "delete from svc.audit_logs", "set @svc_purge_before = null")


def entries(conn: Connection) -> list[dict[str, Any]]:
    """All entries in the order of capture, as values: numbers of JSON are exact."""
    with conn.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute("select * from svc.audit_logs order by id")
        found = list(cursor.fetchall())
    for entry in found:
        for name in _JSON:
            if entry[name] is not None:
                entry[name] = json.loads(entry[name], parse_float=Decimal)
    return found


def facts(conn: Connection, *names: str) -> list[tuple[Any, ...]]:
    """These fields of all entries."""
    return [tuple(entry[name] for name in names) for entry in entries(conn)]
