"""The states of what records, guards and watches, by the record of the last install: a small part of a status."""

from collections.abc import Collection, Sequence
from typing import Any

from psycopg import Connection

from svc_pg.capture.patterns import resolve
from svc_pg.capture.postgres.catalog import read_tables, table_names
from svc_pg.capture.postgres.change_events import by_table
from svc_pg.config import Config
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.schema.comparison import Found, Recorded, compare
from svc_pg.schema.postgres import ddl_triggers, foreign, gaps, installation, installed, partitions, preflight, scope
from svc_pg.schema.postgres.transactions import transaction
from svc_pg.schema.status import Status

_OWN_TABLES = "svc."


def watched(conn: Connection[Any], config: Config) -> list[Status]:
    """Triggers and functions of what ``config`` names, event triggers, partitions and settings, as ``status`` has them.

    Nothing is rendered: what an install would make now is not compared, so the state is never "outdated", and what no
    install has made is listed only if it is a trigger that is off. ``conn`` must be outside a transaction. Raises
    UnknownTableError, ConfigError and the errors of ``status`` that a server or a right causes.
    """
    preflight.check_server(conn)
    with transaction(conn):
        present = installation.read_installation(conn, installation.look_around(conn))
        tables = {str(table) for table in _tables(conn, config)}
        found_gaps = gaps.find(conn, present, tables)
        with scope.planning(conn, scope.ALL):
            found = installed.catalog_objects(conn, has_views=False)
            entries = as_recorded(found, installed.recorded_objects(conn, present), tables)
            has_roles = present.has_roles is not False
            entries += ddl_triggers.compare(conn, is_wanted=config.audit.ddl, has_roles=has_roles)
            entries += [
                Status("partition", part.identity, part.state, partitions.REPAIR)
                for part in partitions.compare(conn, present)
            ]
            entries += [foreign.status_of(each) for each in foreign.settings(conn, present)]
        return entries + [gaps.status_of(gap) for gap in found_gaps]


def as_recorded(found: Sequence[Found], recorded: Sequence[Recorded], tables: Collection[str]) -> list[Status]:
    """The states of the triggers and functions that an install has made for these tables and for ours."""
    notes = {note.key for note in recorded}
    wanted = [
        SchemaObject(note.kind, note.identity, "", note.audited_table, recorded_sha256=note.source_sha256)
        for note in recorded
        if note.kind != "view" and _is_of(note.audited_table, tables)
    ]
    for item in found:
        if item.kind == "trigger" and item.table and _is_of(item.table, tables):
            if item.is_disabled and item.key not in notes:
                wanted.append(SchemaObject("trigger", item.identity, "", item.table))
            if item.function and ("function", item.function) not in notes:
                wanted.append(SchemaObject("function", item.function, "", item.table))
    kept = [note for note in recorded if note.kind != "view"]
    return [entry for entry in compare(wanted, found, kept) if entry.state != "orphan"]


def _is_of(table: str | None, tables: Collection[str]) -> bool:
    return table is None or table in tables or table.startswith(_OWN_TABLES)


def _tables(conn: Connection[Any], config: Config) -> list[TableName]:
    """The tables that are audited or sent. Raises UnknownTableError if one that is named is not there."""
    there = table_names(conn)
    tables = [*resolve(config.audit.tables, there), *by_table(config.webhooks.change_events)]
    if others := {*tables} - {*there}:  # partitions, if they are there
        read_tables(conn, sorted(others))
    return tables
