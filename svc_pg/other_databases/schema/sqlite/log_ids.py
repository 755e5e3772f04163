"""Check the counter of the log's ids, which any writer of the file could drive to its end."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from svc_pg.other_databases.capture.log_ids import HIGHEST_ID, beyond
from svc_pg.other_databases.capture.sqlite.guards import guards
from svc_pg.rendering.templates import render
from svc_pg.schema.status import Status

_HIGHEST: Final = """
select max(
    coalesce((select max(id) from main.svc_audit_logs), 0),
    coalesce((select seq from main.sqlite_sequence where name = 'svc_audit_logs'), 0)
)
"""


def state(cursor: sqlite3.Cursor) -> Iterator[Status]:
    """The counter, if an entry has or may get an id that svc-pg did not assign; else nothing."""
    [highest] = cursor.execute(_HIGHEST).fetchone()
    if not isinstance(highest, int) or highest > HIGHEST_ID:
        [guard] = [each for each in guards() if each.identity.startswith("svc_audit_guard_update ")]
        script = render("sqlite/renumber.sql") + guard.sql
        yield Status("setting", "ids of svc_audit_logs", "tampered", script, note=beyond(highest))
