"""The differences of a SQLite database from a configuration."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from svc_pg.config import Config
from svc_pg.errors import InstallError
from svc_pg.other_databases.schema.sqlite import installed, inventory, log_ids
from svc_pg.other_databases.schema.sqlite.session import reading
from svc_pg.other_databases.schema.sqlite.target import Target, target_of
from svc_pg.schema.migration_files import states
from svc_pg.schema.status import Status, in_order


@dataclass(frozen=True, slots=True)
class Installation:
    """The record of the install, which has no version if nothing is installed."""

    version: str | None
    migrations: dict[int, tuple[str, str]]


def status(conn: sqlite3.Connection, config: Config) -> list[Status]:
    """All objects that are or should be installed, with their states. Changes nothing."""
    with reading(conn) as cursor:
        return look(cursor, installation(cursor), target_of(cursor, config))


def installation(cursor: sqlite3.Cursor) -> Installation:
    """Read the record. Raises InstallError if others made tables with our names."""
    if not _has(cursor, "svc_migrations"):
        if _has(cursor, "svc_audit_logs"):
            raise InstallError(
                "a table svc_audit_logs exists in this database, and svc-pg did not make it",
                hint="Rename or drop it; the name is fixed.",
            )
        return Installation(None, {})
    rows = cursor.execute("select number, name, sha256 from main.svc_migrations").fetchall()
    found = None
    if _has(cursor, "svc_installation"):
        found = cursor.execute("select version from main.svc_installation").fetchone()
    return Installation(found[0] if found else None, {number: (name, digest) for number, name, digest in rows})


def look(cursor: sqlite3.Cursor, present: Installation, target: Target) -> list[Status]:
    """The states of all objects, removals last. The first object of a table notes the table's limits."""
    migrations = states(inventory.FOLDER, present.migrations)
    lost = inventory.compare(cursor, sorted(present.migrations))
    is_recorded = bool(present.migrations) and ("svc_installed_objects" not in [each.identity for each in lost])
    made = installed.compare(cursor, target.objects, is_recorded=is_recorded)
    found = [
        *lost,
        *migrations,
        *(entry for entry in made if not entry.audited_table),
        *_noted((entry for entry in made if entry.audited_table), target.limits),
        *_open_purge(cursor, present),
        *(log_ids.state(cursor) if present.migrations and _has(cursor, "svc_audit_logs") else ()),
    ]
    return in_order(found)


def _noted(entries: Iterable[Status], limits: Mapping[str, str]) -> Iterator[Status]:
    left = dict(limits)
    for entry in entries:
        note = left.pop(entry.audited_table or "", None) if entry.item else None
        yield replace(entry, note=note) if note else entry


def _open_purge(cursor: sqlite3.Cursor, present: Installation) -> Iterator[Status]:
    """A row that opens the guard of deletions: a purge removes its own before it commits, so this one is forged."""
    is_there = present.migrations and _has(cursor, "svc_audit_purge")
    if is_there and cursor.execute("select 1 from main.svc_audit_purge").fetchone() is not None:
        yield Status("setting", "svc_audit_purge", "tampered", "delete from main.svc_audit_purge;")


def _has(cursor: sqlite3.Cursor, table: str) -> bool:
    found = cursor.execute("select 1 from main.sqlite_schema where type = 'table' and name = ?", (table,))
    return found.fetchone() is not None
