"""Make a SQLite database equal to a configuration, or free of svc-pg: in one transaction."""

import sqlite3
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.other_databases.capture.sqlite.guards import guards
from svc_pg.other_databases.capture.sqlite.own_tables import OWN_TABLES
from svc_pg.other_databases.schema.sqlite import installed, inventory
from svc_pg.other_databases.schema.sqlite.differences import installation, look
from svc_pg.other_databases.schema.sqlite.session import writing
from svc_pg.other_databases.schema.sqlite.target import Target, target_of
from svc_pg.schema.install_waits import FOR_TABLE
from svc_pg.schema.migration_files import by_name, released
from svc_pg.schema.refusals import refuse_lost, refuse_newer, refuse_removals
from svc_pg.schema.status import Status, steps_of

_VERSION: Final = """
insert into main.svc_installation (is_only, version) values (1, ?)
on conflict do update set version = excluded.version
"""


def install(
    conn: sqlite3.Connection, config: Config, *, prune: bool = False, wait: timedelta = FOR_TABLE
) -> list[Status]:
    """Make the database equal to ``config``. Returns the steps taken: none if it was equal already.

    Raises the errors of ``svc_pg.schema.install``, and has changed nothing then.
    """
    with writing(conn, wait=wait) as cursor:
        present = installation(cursor)
        refuse_newer(present.version)
        wanted = target_of(cursor, config)
        steps = steps_of(look(cursor, present, wanted))
        if not prune:
            refuse_removals(steps)
        refuse_lost(steps)
        made = {step.item.audited_table for step in steps if step.item is not None and step.item.audited_table}
        _take(cursor, [step for step in steps if step.item is None or not step.item.audited_table])
        # all of a table in their order, by which they fire, if any is new
        installed.create(cursor, [item for item in wanted.objects if item.audited_table in made])
        if steps:  # of rows that were kept, nothing was heard while triggers were missing
            cursor.execute("delete from main.svc_audit_replaced")
        if present.version != __version__:
            cursor.execute(_VERSION, (__version__,))
    return steps


def uninstall(conn: sqlite3.Connection, *, drop_data: bool = False, wait: timedelta = FOR_TABLE) -> list[Status]:
    """Remove our triggers, and with ``drop_data`` our tables with the log. Returns the steps taken.

    Without ``drop_data`` the log is still guarded against change, and a later install continues with it.
    """
    with writing(conn, wait=wait) as cursor:
        present = installation(cursor)
        if not present.migrations:
            return []
        steps = [step for step in look(cursor, present, Target(guards(), {})) if step.action == "remove"]
        if drop_data:
            tables = cursor.execute("select name from main.sqlite_schema where type = 'table' order by name").fetchall()
            steps += [
                Status("table", name, "orphan", f"drop table main.{name};") for (name,) in tables if name in OWN_TABLES
            ]
        _take(cursor, steps)
    return steps


def _take(cursor: sqlite3.Cursor, steps: Sequence[Status]) -> None:
    known = by_name(released(inventory.FOLDER))
    for step in steps:
        if step.kind == "migration":
            inventory.apply(cursor, known[step.identity])
        elif step.item is not None:
            installed.create(cursor, [step.item])
        elif step.kind == "trigger":
            installed.remove(cursor, [step])
        else:
            for statement in inventory.statements(step.sql):
                cursor.execute(statement)
