"""The migrations of schema ``svc`` on MySQL and MariaDB, and the inventory of their objects."""

import secrets
from collections.abc import Mapping, Set
from typing import Final

from svc_pg.database.dbapi import DbApiConnection, execute, rows
from svc_pg.schema import migration_files
from svc_pg.schema.export.script import statements
from svc_pg.schema.migration_files import Migration
from svc_pg.schema.status import Status

_FOLDER: Final = "mysql/migrations"
_PRESENT: Final = """
select 'table', concat('svc.', table_name) from information_schema.tables where table_schema = 'svc'
union all
select 'column', concat(column_name, ' of svc.', table_name) from information_schema.columns
 where table_schema = 'svc'
"""
RECORD: Final = (
    "delete from svc.installed_inventory",
    f"insert into svc.installed_inventory (kind, identity) {_PRESENT}",
)
"""The statements that record the objects of the migrations."""


def released() -> tuple[Migration, ...]:
    """All migrations of this program, in order."""
    return migration_files.released(_FOLDER)


def states(applied: Mapping[int, tuple[str, str]]) -> list[Status]:
    """All migrations, missing or not. Raises the errors of ``svc_pg.schema.migration_files.pending``."""
    return migration_files.states(_FOLDER, applied)


def apply(conn: DbApiConnection, migration: Migration) -> None:
    """Run one migration and record it. Each of its statements can run again."""
    for statement in statements(migration.sql):
        execute(conn, statement)
    execute(
        conn,
        "insert into svc.migrations (number, name, sha256, applied_at) values (%s, %s, %s, utc_timestamp(6))",
        (migration.number, migration.name, migration.sha256),
    )
    execute(conn, "commit")


def finish(conn: DbApiConnection) -> None:
    """Create the key of hashed columns, and record the objects of the migrations."""
    key = secrets.token_bytes(32) + bytes(32)
    pads = [bytes(byte ^ pad for byte in key) for pad in (0x36, 0x5C)]
    execute(
        conn,
        "insert ignore into svc.audit_hash_key (is_only, inner_pad, outer_pad) values (1, unhex(%s), unhex(%s))",
        [pad.hex() for pad in pads],
    )
    for statement in RECORD:
        execute(conn, statement)
    execute(conn, "commit")


def missing(conn: DbApiConnection, known: Set[str]) -> list[Status]:
    """Our tables and columns that are gone; of a missing table, not its columns. ``known`` are the tables of svc."""
    if "installed_inventory" not in known:
        return []
    gone = set(rows(conn, "select kind, identity from svc.installed_inventory")) - set(rows(conn, _PRESENT))
    return [
        Status(kind, identity, "missing", "")
        for kind, identity in sorted(gone)
        if kind == "table" or identity.rpartition(" of svc.")[2] in known
    ]
