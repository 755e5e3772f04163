"""Run a statement about a piece of a table in a transaction of its own, under a lock of the table."""

import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Final, NoReturn, TypeVar

from psycopg.errors import InsufficientPrivilege, InvalidSchemaName, LockNotAvailable, QueryCanceled, UndefinedTable
from psycopg.sql import SQL, Identifier, Literal

from svc_pg.audit.reconciliation.database import Database
from svc_pg.capture.postgres.catalog import reading_tables
from svc_pg.capture.postgres.comparing import SETTINGS
from svc_pg.capture.postgres.foreign_code import planned_code
from svc_pg.capture.postgres.pieces import Leaf, leaves_of
from svc_pg.capture.table import Table
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Together
from svc_pg.database.query import Query
from svc_pg.database.table_names import TableName
from svc_pg.errors import AccessError, ConflictError

Row = TypeVar("Row")
Mode = typing.Literal["access share", "share update exclusive", "share row exclusive"]

NAMES: Final = "set local search_path = pg_catalog, pg_temp; set local quote_all_identifiers = off"
"""The settings with which the catalog is read."""

_TRIES: Final = 20
_PAUSE: Final = timedelta(milliseconds=250)
_PATIENCE: Final = timedelta(milliseconds=500)
# Writers queue behind a repair that waits for one of them
_IMPATIENCE: Final = timedelta(milliseconds=300)
_BEFORE_DEADLOCK: Final = SQL(
    "select set_config('lock_timeout', greatest(least({},"
    " extract(epoch from current_setting('deadlock_timeout')::interval) * 500)::integer, 1)::text, true)"
)
# A piece is short
_PLANNER: Final = "set local max_parallel_workers_per_gather = 0"


def leaves(table: TableName) -> Effects[list[Leaf]]:
    """The leaves of a table. Raises ConflictError if others keep one of them locked."""
    found: list[Leaf] | None = yield from _patient(table, _patience(_PATIENCE), lambda: _answer(leaves_of(table)))
    return _refuse_locked(table) if found is None else found


def look(database: Database, table: Table, relation: TableName, query: Query[Row]) -> Effects[Row]:
    """The row of a query about a table, under a lock that lets writers go on, but no session give the planner of it or
    its partition other code to run. Raises ConflictError if others keep it locked, ConfigError if the rules of a table
    are those that are installed no longer.
    """
    mode: Mode = "access share" if database.is_standby else "share update exclusive"
    found = yield from _locked(mode, _PATIENCE, relation, _checked(database, table, relation, query))
    return _refuse_locked(relation) if found is None else found


def write(database: Database, table: Table, relation: TableName, query: Query[Row]) -> Effects[Row | None]:
    """The row of a query that writes entries, while no writer is at work there; None if one stays.

    Raises the errors of ``look``.
    """
    effects = _checked(database, table, relation, query)
    return (yield from _locked("share row exclusive", _IMPATIENCE, relation, effects))


def _locked(
    mode: Mode, patience: timedelta, relation: TableName, effects: Callable[[], Effects[list[Row]]]
) -> Effects[Row | None]:
    lock = SQL("lock table {} in {} mode").format(Identifier(*relation), SQL(mode)).as_string()
    script = "; ".join([_patience(patience), _PLANNER, SETTINGS, lock])
    found = yield from _patient(relation, script, effects)
    return None if found is None else found[0]


def _patience(most: timedelta) -> str:
    """The settings for a wait that ends before PostgreSQL looks for a deadlock, when it cancels an autovacuum."""
    return f"{NAMES}; {_BEFORE_DEADLOCK.format(Literal(round(most / timedelta(milliseconds=1)))).as_string()}"


def _patient(relation: TableName, script: str, effects: Callable[[], Effects[Row]]) -> Effects[Row | None]:
    """The result of effects after a script, None if a lock is never free. Raises errors that name the table."""
    for number in range(_TRIES):
        if number:
            yield _PAUSE
        with _naming(relation), suppress(LockNotAvailable):
            return (yield Together(script, effects()))  # type: ignore[no-any-return] # the result of the effects
    return None


@contextmanager
def _naming(relation: TableName) -> Iterator[None]:
    try:
        yield
    except InsufficientPrivilege as error:
        raise AccessError(
            f'table "{relation}": {error.diag.message_primary}',
            hint=f"The lock needs a right to change {Identifier(*relation).as_string()}, for example update;"
            " row security must not hide rows; and a repair needs the rights of an install.",
        ) from error
    except (UndefinedTable, InvalidSchemaName) as error:
        _refuse_changed(relation, error)
    except QueryCanceled as error:
        raise ConflictError(
            f'table "{relation}": {error.diag.message_primary}', hint="Set statement_timeout of the role to 0."
        ) from error


def _refuse_locked(relation: TableName) -> NoReturn:
    raise ConflictError(
        f'table "{relation}" stays locked', hint="Reconcile again when its DDL, VACUUM or CREATE INDEX has ended."
    )


def _refuse_changed(name: TableName, cause: Exception | None = None) -> NoReturn:
    raise ConflictError(f'table "{name}" was changed during the reconciliation', hint="Run it again.") from cause


def _checked(
    database: Database, table: Table, relation: TableName, query: Query[Row]
) -> Callable[[], Effects[list[Row]]]:
    """The effects of a query, which come to nothing unless table and rules are as they were, before it and after."""

    def effects() -> Effects[list[Row]]:
        for code in (yield planned_code(relation)):
            message, hint = code.refusal("reconciliation")
            raise ConflictError(message, hint=hint)
        tables = yield from reading_tables([table.name])
        if tables != {table.name: table}:  # its images are for the columns that it had
            _refuse_changed(table.name)
        rows = yield from _answer(query)
        yield from database.installed.check()
        return rows

    return effects


def _answer(query: Query[Row]) -> Effects[list[Row]]:
    return (yield query)  # type: ignore[no-any-return] # the rows of the query
