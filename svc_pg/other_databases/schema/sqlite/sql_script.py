"""The steps of an install as a script for SQLite's shell, Alembic or Django."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.sqlite.catalog import SCHEMA
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.other_databases.capture.sqlite.guards import guards
from svc_pg.other_databases.schema.sqlite import installed, inventory
from svc_pg.other_databases.schema.sqlite.differences import installation, look
from svc_pg.other_databases.schema.sqlite.session import reading
from svc_pg.other_databases.schema.sqlite.target import target_of
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import Sql, sql
from svc_pg.rendering.templates import render_for
from svc_pg.schema.change import Change, change_of, removal_of, replaced_by, reversal_of
from svc_pg.schema.export.script import Script
from svc_pg.schema.migration_files import released
from svc_pg.schema.refusals import refuse_lost, refuse_newer, refuse_removals
from svc_pg.schema.status import steps_of

_QUOTE: Final = Sqlite()
_OPENING: Final = ".bail on\nbegin immediate;"  # or else the shell would go on after an error, and commit the rest

_CREATE: Final = re.compile(r"^create (table|index) ", re.MULTILINE)


def script(conn: sqlite3.Connection, config: Config, *, prune: bool = False) -> Script | None:
    """The script for this database, or None if it is already as the configuration says. Changes nothing.

    Raises the errors of ``install`` that come before any change.
    """
    with reading(conn) as cursor:
        present = installation(cursor)
        refuse_newer(present.version)
        steps = steps_of(look(cursor, present, target_of(cursor, config)))
        definitions = installed.definitions(cursor)
        notes = {note.key: note.source_sha256 for note in installed.notes(cursor)} if present.migrations else {}
    if not prune:
        refuse_removals(steps)
    refuse_lost(steps)
    if not steps:
        return None
    change = change_of(steps, released(inventory.FOLDER), notes)
    back = reversal_of(steps, guards(), replaced_by(steps, notes, definitions), is_first=not notes)
    others = "".join(f"{step.sql}\n" for step in steps if step.kind in ("index", "setting"))
    tables = [step.audited_table for step in steps if step.audited_table and step.item is not None]
    return _script(_text(change, version=__version__) + others, _text(back), tables)


def removal(conn: sqlite3.Connection, config: Config, tables: Sequence[str]) -> Script:
    """The script that removes the capture of tables, before their columns change. Its downgrade brings it back."""
    with reading(conn) as cursor:
        found = look(cursor, installation(cursor), target_of(cursor, config))
    names = [TableName.parse(table).within(SCHEMA) for table in tables]
    changes = [removal_of(found, str(name), _QUOTE.ident(name.table)) for name in names]
    up = "".join(_text(change) for change, _ in changes)
    down = "".join(_text(change, version=__version__) for _, change in changes)
    return _script(up, down, [str(name) for name in names])


def _script(upgrade: str, downgrade: str, tables: Sequence[str]) -> Script:
    return Script(upgrade, downgrade, list(dict.fromkeys(tables)), opening=_OPENING, split=inventory.statements)


def _text(change: Change, *, version: str | None = None) -> str:
    return render_for(
        _QUOTE,
        "sqlite/script/change.sql.j2",
        # a script runs again after its own reversal, which keeps tables
        migrations=[(each, Sql(_CREATE.sub(r"create \1 if not exists ", each.sql))) for each in change.migrations],
        change=change,
        made=_recorded(change.items),
        version=version,
    )


def _recorded(items: Sequence[SchemaObject]) -> list[tuple[str, Sql, tuple[str | None, ...]]]:
    """Each trigger with its SQL and its record, as an install into a scratch database makes it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        cursor = conn.cursor()
        for migration in released(inventory.FOLDER):
            inventory.apply(cursor, migration)
        for table in {TableName.parse(item.audited_table).table for item in items if item.audited_table}:
            cursor.execute(sql("create table {} (x)", _QUOTE.ident(table)).text)
        installed.create(cursor, items)
        notes = {note.identity: note for note in installed.notes(cursor)}
    return [
        (
            Trigger.parse(item.identity).name,
            Sql(item.sql),
            (item.kind, item.identity, item.audited_table, item.source_sha256, notes[item.identity].catalog_sha256),
        )
        for item in items
    ]
