"""Check the counter of the log's ids, which any writer of the log could drive to its end, and repair it."""

import re
from collections.abc import Iterable
from typing import Final

from svc_pg.database.dbapi import DbApiConnection, execute, rows
from svc_pg.other_databases.capture.log_ids import HIGHEST_ID, beyond
from svc_pg.other_databases.schema.mysql.diagnosis import diagnose
from svc_pg.other_databases.schema.mysql.session import patiently
from svc_pg.rendering.templates import render
from svc_pg.schema.export.script import statements
from svc_pg.schema.status import Status

_KIND: Final = "setting"
_COUNTER: Final = re.compile(r"^\) .*\bAUTO_INCREMENT=([0-9]+)", re.MULTILINE)
_HAS_ZERO: Final = "select 1 from svc.audit_logs where id = 0"


def state(conn: DbApiConnection) -> list[Status]:
    """The counter, if an entry has or may get an id that svc-pg did not assign; else nothing."""
    [(_, definition)] = rows(conn, "show create table svc.audit_logs")  # other views of the counter may be old
    match = _COUNTER.search(definition)
    counter = int(match[1]) if match else 1
    if counter <= HIGHEST_ID + 1 and not rows(conn, _HAS_ZERO):
        return []
    return [Status(_KIND, "ids of svc.audit_logs", "tampered", render("mysql/renumber.sql"), note=beyond(counter))]


def statements_of(steps: Iterable[Status]) -> list[str]:
    """The statements that renumber those entries, if that is one of the steps."""
    return [statement for step in steps if step.kind == _KIND for statement in statements(step.sql)]


def renumber(conn: DbApiConnection, steps: Iterable[Status]) -> list[Status]:
    """Renumber those entries, if that is one of the steps; return the step. Writers wait for it."""
    if not (done := [step for step in steps if step.kind == _KIND]):
        return []

    def work() -> None:
        try:
            for statement in statements_of(done):
                execute(conn, statement)
        finally:
            execute(conn, "unlock tables")
            execute(conn, "set @svc_renumber = null")

    try:
        patiently(work)
    except Exception as error:
        raise diagnose(error, table="svc.audit_logs") from error
    return done
