"""Our triggers in the catalog of SQLite and in our record; create and remove them."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Final

from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.sqlite.catalog import SCHEMA
from svc_pg.other_databases.capture.sqlite.definitions import fires_after
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.other_databases.capture.sqlite.guards import guards
from svc_pg.other_databases.capture.sqlite.own_tables import OWN_TABLES
from svc_pg.other_databases.capture.sqlite.table import TRIGGER_PREFIX
from svc_pg.other_databases.schema.sqlite.inventory import statements
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import sql
from svc_pg.schema import comparison
from svc_pg.schema.comparison import Found, Recorded
from svc_pg.schema.status import Status

_TRIGGERS: Final = "select rowid, name, tbl_name, sql from main.sqlite_schema where type = 'trigger' order by rowid"
_RECORDED: Final = """
select kind, identity, audited_table, source_sha256, catalog_sha256 from main.svc_installed_objects order by identity
"""
_RECORD: Final = """
insert into main.svc_installed_objects (kind, identity, audited_table, source_sha256, catalog_sha256)
values (?, ?, ?, ?, ?)
on conflict do update set audited_table = excluded.audited_table, source_sha256 = excluded.source_sha256,
    catalog_sha256 = excluded.catalog_sha256
"""
_FORGET: Final = "delete from main.svc_installed_objects where kind = ? and identity = ?"


@dataclass(frozen=True, slots=True)
class _Trigger:
    position: int
    name: str
    table: str
    definition: str

    @property
    def is_ours(self) -> bool:
        return self.name in _guards() if self.table in OWN_TABLES else self.name.startswith(TRIGGER_PREFIX)

    @property
    def identity(self) -> str:
        return str(Trigger(self.name, TableName(SCHEMA, self.table)))

    @property
    def drop_sql(self) -> str:
        return sql("drop trigger main.{}", Sqlite().ident(self.name)).text


def compare(cursor: sqlite3.Cursor, wanted: Iterable[SchemaObject], *, is_recorded: bool) -> list[Status]:
    """The state of every wanted trigger, of our other triggers, and then of triggers of others on our tables."""
    triggers = [_Trigger(*row) for row in cursor.execute(_TRIGGERS)]
    recorded = notes(cursor) if is_recorded else []
    names = {Trigger.parse(note.identity).name: note.identity for note in recorded}
    found = [
        Found(
            kind="trigger",
            identity=trigger.identity,
            sha256=_digest(trigger.definition),
            drop_sql=trigger.drop_sql,
            table=None if trigger.table in OWN_TABLES else str(TableName(SCHEMA, trigger.table)),
            recorded_as=names.get(trigger.name),
        )
        for trigger in triggers
        if trigger.is_ours
    ]
    late = set(_late(triggers))
    states = [
        replace(state, state="outdated") if state.state == "ok" and state.identity in late else state
        for state in comparison.compare(wanted, found, recorded, rewrites=True)
    ]
    return states + [
        Status("trigger", trigger.identity, "tampered", trigger.drop_sql, is_foreign=True)
        for trigger in triggers
        if trigger.table in OWN_TABLES and not trigger.is_ours
    ]


def definitions(cursor: sqlite3.Cursor) -> dict[str, str]:
    """The SQL of our triggers by identity, as the catalog has it."""
    triggers = [_Trigger(*row) for row in cursor.execute(_TRIGGERS)]
    return {trigger.identity: f"{trigger.definition};" for trigger in triggers if trigger.is_ours}


def _late(triggers: list[_Trigger]) -> Iterable[str]:
    """Our triggers that fire after one of the application: the newest fires first.

    If that trigger changes the row again, its entry would precede the entry of the change that caused it.
    """
    others = {trigger.table: trigger.position for trigger in triggers if not trigger.is_ours and _is_after(trigger)}
    for trigger in triggers:
        if trigger.is_ours and _is_after(trigger) and trigger.position < others.get(trigger.table, 0):
            yield trigger.identity


def _is_after(trigger: _Trigger) -> bool:
    return fires_after(trigger.definition)


def notes(cursor: sqlite3.Cursor) -> list[Recorded]:
    """Our record of every trigger."""
    return [Recorded(*row) for row in cursor.execute(_RECORDED).fetchall()]


def create(cursor: sqlite3.Cursor, items: Iterable[SchemaObject]) -> None:
    """Create or replace triggers in order, and record them."""
    # by the trigger's own name, which is unique in a database, and which it keeps when its table is renamed
    recorded = {Trigger.parse(note.identity).name: note for note in notes(cursor)}
    for item in items:
        name = Trigger.parse(item.identity).name
        if name in recorded:  # perhaps on a table that was renamed since, with its triggers
            cursor.execute(_FORGET, recorded[name].key)
        cursor.execute(sql("drop trigger if exists main.{}", Sqlite().ident(name)).text)
        for statement in statements(item.sql):
            cursor.execute(statement)
        [definition] = cursor.execute(
            "select sql from main.sqlite_schema where type = 'trigger' and name = ?", (name,)
        ).fetchone()
        note = (item.kind, item.identity, item.audited_table, item.source_sha256, _digest(definition))
        cursor.execute(_RECORD, note)


def remove(cursor: sqlite3.Cursor, steps: Iterable[Status]) -> None:
    """Drop triggers, and forget them."""
    for step in steps:
        if step.sql:
            cursor.execute(step.sql)
        cursor.execute(_FORGET, (step.kind, step.recorded_as or step.identity))


@cache
def _guards() -> frozenset[str]:
    return frozenset(Trigger.parse(guard.identity).name for guard in guards())


def _digest(definition: str) -> str:
    return sha256(definition.encode()).hexdigest()
