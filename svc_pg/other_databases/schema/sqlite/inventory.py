"""Our tables, columns and indexes: those that the migrations create, and those of a database."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Final

from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.other_databases.capture.sqlite.own_tables import OWN_TABLES
from svc_pg.rendering.sql_text import sql
from svc_pg.schema.migration_files import Migration, released
from svc_pg.schema.status import InventoryKind, Status

FOLDER: Final = "sqlite/migrations"
_OBJECTS: Final = """
select type, name, tbl_name, sql from main.sqlite_schema
 where type in ('table', 'index') and sql is not null order by type = 'index', name
"""
_UNIQUE: Final = """
select l.name from pragma_index_list(?, 'main') l where l."unique" and l.origin = 'c'
"""


@dataclass(frozen=True, slots=True)
class _Object:
    kind: InventoryKind
    name: str
    table: str
    sql: str


def compare(cursor: sqlite3.Cursor, applied: Sequence[int]) -> list[Status]:
    """The missing and changed tables, columns and indexes.

    Only a backup has the content of a lost table or column. Install keeps changes by others.
    """
    present = {(item.kind, item.name): item for item in _objects(cursor)}
    result = []
    for item in _made_by(tuple(applied)):
        found = present.get((item.kind, item.name))
        if found is None:
            if item.kind == "table" or ("table", item.table) in present:
                result.append(Status(item.kind, item.name, "missing", f"{item.sql};" if item.kind == "index" else ""))
        elif found.sql != item.sql:
            result.append(_changed(item))
    for table in sorted(OWN_TABLES):
        # one that makes a capture fail: the change is refused then, or goes unrecorded with INSERT OR IGNORE
        for (name,) in cursor.execute(_UNIQUE, (table,)).fetchall():
            drop_sql = sql("drop index main.{}", Sqlite().ident(name)).text
            result.append(Status("index", f"{name} on {table}", "tampered", drop_sql, is_foreign=True))
    return result


def apply(cursor: sqlite3.Cursor, migration: Migration) -> None:
    """Run one migration and record it."""
    for statement in statements(migration.sql):
        cursor.execute(statement)
    cursor.execute(
        "insert into main.svc_migrations (number, name, sha256) values (?, ?, ?)",
        (migration.number, migration.name, migration.sha256),
    )


def statements(script: str) -> list[str]:
    """The statements of a script: ``executescript`` would commit first."""
    found, begun = [], ""
    for line in script.splitlines(keepends=True):
        begun += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(begun):
            found.append(begun)
            begun = ""
    return found


def _changed(item: _Object) -> Status:
    if item.kind == "index":
        drop_sql = sql("drop index main.{}", Sqlite().ident(item.name)).text
        return Status(item.kind, item.name, "tampered", f"{drop_sql}; {item.sql};", is_foreign=True)
    return Status(item.kind, item.name, "tampered", f"-- make it as it was: {item.sql};", is_foreign=True)


def _objects(cursor: sqlite3.Cursor) -> list[_Object]:
    rows = cursor.execute(_OBJECTS).fetchall()
    return [_Object(*row) for row in rows if row[2] in OWN_TABLES]


@cache
def _made_by(applied: tuple[int, ...]) -> list[_Object]:
    """The objects that these migrations make in an empty database."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        cursor = conn.cursor()
        for migration in released(FOLDER):
            if migration.number in applied:
                apply(cursor, migration)
        return _objects(cursor)
