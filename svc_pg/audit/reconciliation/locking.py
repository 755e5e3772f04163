"""Run a statement about a piece of a table in a transaction of its own, under a lock of the table."""

from datetime import timedelta
from typing import Final, Literal, TypeVar

from psycopg.errors import InsufficientPrivilege, LockNotAvailable
from psycopg.sql import SQL, Identifier

from svc_pg.capture.postgres.catalog import reading_tables
from svc_pg.capture.postgres.comparing import SETTINGS
from svc_pg.capture.postgres.foreign_code import planned_code
from svc_pg.capture.table import Table
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Together
from svc_pg.database.query import Query
from svc_pg.database.table_names import TableName
from svc_pg.errors import AccessError, ConflictError

Row = TypeVar("Row")
Mode = Literal["access share", "share update exclusive", "share row exclusive"]

NAMES: Final = "set local search_path = pg_catalog, pg_temp; set local quote_all_identifiers = off"
"""The settings with which the catalog is read."""

_TRIES: Final = 3
_PATIENCE: Final = timedelta(seconds=5)
# Writers queue behind a repair that waits for one of them
_WRITE_TRIES: Final = 20
_IMPATIENCE: Final = timedelta(milliseconds=300)
_PAUSE: Final = timedelta(milliseconds=250)
# A piece is short
_PLANNER: Final = "set local jit = off; set local max_parallel_workers_per_gather = 0"


def look(table: Table, relation: TableName, query: Query[Row], *, is_standby: bool) -> Effects[Row]:
    """The row of a query about a table, under a lock that lets writers go on, but no session give the planner of it or
    its partition other code to run. Raises ConflictError if others keep it locked.
    """
    mode: Mode = "access share" if is_standby else "share update exclusive"
    found = yield from _locked(table, relation, mode, query, timeout=_PATIENCE, tries=_TRIES)
    if found is None:
        raise ConflictError(
            f'table "{relation}" stays locked', hint="Reconcile again when its DDL, VACUUM or CREATE INDEX has ended."
        )
    return found


def write(table: Table, relation: TableName, query: Query[Row]) -> Effects[Row | None]:
    """The row of a query that writes entries, while no writer is at work there; None if one stays."""
    return (yield from _locked(table, relation, "share row exclusive", query, timeout=_IMPATIENCE, tries=_WRITE_TRIES))


def _locked(
    table: Table, relation: TableName, mode: Mode, query: Query[Row], *, timeout: timedelta, tries: int
) -> Effects[Row | None]:
    lock = SQL("lock table {} in {} mode").format(Identifier(*relation), SQL(mode)).as_string()
    patience = f"set local lock_timeout = {round(timeout.total_seconds() * 1000)}"
    script = "; ".join([NAMES, patience, _PLANNER, SETTINGS, lock])
    for number in range(tries):
        if number:
            yield _PAUSE
        try:
            [found] = yield Together(script, _checked(table, relation, query))
        except LockNotAvailable:
            continue
        except InsufficientPrivilege as error:
            raise AccessError(
                f'table "{relation}": {error.diag.message_primary}',
                hint=f"The lock needs a right to change {Identifier(*relation).as_string()}, for example update;"
                " row security must not hide rows; and a repair needs the rights of an install.",
            ) from error
        return found  # type: ignore[no-any-return] # the row of the query
    return None


def _checked(table: Table, relation: TableName, query: Query[Row]) -> Effects[list[Row]]:
    for code in (yield planned_code(relation)):
        message, hint = code.refusal("reconciliation")
        raise ConflictError(message, hint=hint)
    tables = yield from reading_tables([table.name])
    if tables != {table.name: table}:  # its images are for the columns that it had
        raise ConflictError(f'table "{table.name}" was changed during the reconciliation', hint="Run it again.")
    return (yield query)  # type: ignore[no-any-return] # the rows of the query
