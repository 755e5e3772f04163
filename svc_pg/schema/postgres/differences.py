"""The differences of a database from a configuration, and the SQL to fix them."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from psycopg import Connection
from psycopg.sql import Identifier

from svc_pg.config import Config
from svc_pg.config.products import PRODUCTS
from svc_pg.database.table_names import TableName
from svc_pg.schema.comparison import compare
from svc_pg.schema.postgres import (
    access,
    changed_columns,
    ddl_triggers,
    foreign,
    gaps,
    installation,
    installed,
    inventory,
    log_indexes,
    migrations,
    partitions,
    preflight,
    roles,
    scope,
)
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.events import compare_events
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.postgres.inventory import AlteredObject
from svc_pg.schema.postgres.target import Target, target_of
from svc_pg.schema.postgres.transactions import transaction
from svc_pg.schema.status import Status, in_order


def status(
    conn: Connection[Any], config: Config, *, roles: bool | None = None, longest: timedelta | None = None
) -> list[Status]:
    """All objects that are or should be installed, with their states, in the order of an install. Changes nothing.

    ``roles`` are those of ``install``, ``longest`` is the limit of each statement. ``conn`` must be outside a
    transaction. Raises the errors of ``install`` that come before any change.
    """
    preflight.check_server(conn)
    with transaction(conn):
        if longest is not None:
            milliseconds = round(longest.total_seconds() * 1000)
            conn.execute("select set_config('statement_timeout', %s, true)", (f"{milliseconds}ms",))
        present = installation.read_installation(conn, installation.look_around(conn))
        return look(conn, present, target_of(conn, present, config, roles=roles))


def look(conn: Connection[Any], present: Installation, target: Target) -> list[Status]:
    """As ``status``, inside a transaction that pins the search_path."""
    numbered = migrations.states(present, target.products)
    found_gaps = gaps.find(conn, present, target.tables)
    with scope.planning(conn, scope.ALL):
        return in_order(_look(conn, present, target, numbered, found_gaps))


def _look(
    conn: Connection[Any], present: Installation, target: Target, numbered: list[Status], found_gaps: list[gaps.Gap]
) -> list[Status]:
    wanted_roles = roles.compare(present.around, target.access.roles)
    found = [Status("role", role.name, role.state, role.sql) for role in wanted_roles]
    found += [_altered(each) for each in inventory.altered(conn, present, target.products)]
    found += numbered
    recording = ddl_triggers.compare(conn, is_wanted=target.has_ddl, has_roles=target.access.has_roles)
    found += [trigger for trigger in recording if trigger.action == "remove"]
    made = _explained(conn, present, objects(conn, present, target))
    found += [entry for entry in made if not entry.audited_table]
    found += [foreign.status_of(each) for each in foreign.find(conn, present, has_roles=target.access.has_roles)]
    found += [
        Status("partition", part.identity, part.state, partitions.REPAIR) for part in partitions.compare(conn, present)
    ]
    differing = list(log_indexes.compare(present.around.log_indexes, target.indexes))
    found += [index for index in differing if not index.is_later]
    found += [
        Status("event", event.name, event.state, event.sql) for event in compare_events(conn, present, target.events)
    ]
    found += [entry for entry in made if entry.audited_table]
    found += [gaps.status_of(gap) for gap in found_gaps]
    is_new = any(entry.kind in ("role", "migration") and entry.action == "create" for entry in found)
    found += _access(conn, present, target.access, is_new=is_new)
    found += [trigger for trigger in recording if trigger.action != "remove"]
    found += [index for index in differing if index.is_later]
    return found


def objects(conn: Connection[Any], present: Installation, target: Target) -> list[Status]:
    """The functions, views and triggers of ``look``."""
    recorded = installed.recorded_objects(conn, present)
    made = compare(target.objects, installed.catalog_objects(conn), recorded, covered=target.covered)
    orphans = {entry.audited_table for entry in made if entry.state == "orphan" and not entry.moved_to}
    dropped = _dropped(conn, orphans - {None})
    made = [replace(each, is_of_dropped_table=True) if _is_orphan_of(each, dropped) else each for each in made]
    left_out = {*PRODUCTS} - {*target.products}
    if not left_out:
        return made
    return [replace(each, is_left_out=each.state == "orphan" and each.product in left_out) for each in made]


def _explained(conn: Connection[Any], present: Installation, made: list[Status]) -> list[Status]:
    """Note what changed in the tables whose objects are outdated."""
    tables = {each.audited_table for each in made if each.state == "outdated" and each.audited_table}
    if not tables:
        return made
    notes = changed_columns.notes(conn, present, tables)
    return [
        replace(each, note=notes.get(each.audited_table or "")) if each.state == "outdated" else each for each in made
    ]


def _is_orphan_of(entry: Status, tables: Collection[str | None]) -> bool:
    return entry.state == "orphan" and entry.audited_table in tables


def _dropped(conn: Connection[Any], tables: Collection[str | None]) -> set[str | None]:
    """The dropped ones among the tables."""
    names = {table: Identifier(*TableName.parse(table)).as_string() for table in tables if table}
    if not names:
        return set()
    text = "select name from unnest(%s::text[]) name where to_regclass(name) is null"
    gone = {name for (name,) in conn.execute(text, (list(names.values()),))}
    return {table for table, name in names.items() if name in gone}


def _altered(each: AlteredObject) -> Status:
    """An install leaves columns to people: they may have data."""
    is_kept = each.kind == "column" and each.state == "tampered"
    return Status(each.kind, each.identity, each.state, each.sql or "", is_foreign=is_kept)


def _access(conn: Connection[Any], present: Installation, wanted: Access, *, is_new: bool) -> list[Status]:
    """Each object with wrong rights; objects that are still to be created get theirs when they are created."""
    if is_new:
        return [Status("access", "schema svc", "missing", access.access_sql(wanted))]
    state = access.state(present, wanted)
    changes = access.compare(conn, wanted)
    return [Status("access", change.object, state, change.sql) for change in changes] or [
        Status("access", "schema svc", "ok", "")
    ]
