"""The transactions of the installer: short, READ COMMITTED, with a pinned search_path and, for changes, our lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import LockNotAvailable

from svc_pg.database.performing import check_idle
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.rendering.templates import render
from svc_pg.schema.install_waits import FOR_INSTALL, FOR_TABLE


@dataclass(frozen=True, slots=True)
class Patience:
    """The longest waits for another install, and, each time, for the lock of a table."""

    for_install: timedelta = FOR_INSTALL
    for_table: timedelta = FOR_TABLE


# names and intervals that the catalog prints are compared with those of the record
_NAMES: Final = (
    "set local search_path = pg_catalog, pg_temp; set local quote_all_identifiers = off;"
    " set local intervalstyle = postgres"
)
_SETTINGS: Final = f"set transaction isolation level read committed; {_NAMES}"
ALONE: Final = "lock table svc.installation in share update exclusive mode"
"""The install lock once the schema is there. VACUUM and ANALYZE of that table wait for an install, a dump does not."""


@contextmanager
def transaction(conn: Connection[Any]) -> Iterator[None]:
    """A transaction of its own. Raises TransactionError if the connection is in one already."""
    check_idle(conn)
    with conn.transaction():
        # each statement must see the commits of the previous holder of the lock
        conn.execute(_SETTINGS, prepare=False)  # as one: a statement that is prepared would have to be alone
        yield


@contextmanager
def looking(conn: Connection[Any]) -> Iterator[None]:
    """As ``transaction``, inside the caller's, whose settings are as before afterwards. Nothing may be written."""
    with conn.transaction(force_rollback=True):
        conn.execute(_NAMES, prepare=False)
        yield


@contextmanager
def locked(conn: Connection[Any], patience: Patience) -> Iterator[None]:
    """A transaction that holds the install lock. Raises InstallError if another install keeps it too long.

    An installer that becomes a member of the owner only inside it has to execute ``ALONE`` then.
    """
    with transaction(conn):
        _lock(conn, patience.for_install, _limit(patience.for_table))
        yield


def lock(conn: Connection[Any]) -> None:
    """Take the install lock until the end of the caller's transaction, whose settings are as before afterwards.

    Raises InstallError if another install keeps it too long.
    """
    _lock(conn, FOR_INSTALL, scalar(conn, "select current_setting('lock_timeout')"))


def _lock(conn: Connection[Any], for_install: timedelta, for_table: str) -> None:
    seconds = f"{max(for_install.total_seconds(), 0.001):g}"
    try:
        conn.execute(render("include/lock_install.sql.j2", seconds=seconds, for_table=for_table))
    except LockNotAvailable as error:
        raise InstallError(str(error.diag.message_primary), hint=error.diag.message_hint) from error


def _limit(wait: timedelta) -> str:
    milliseconds = max(1, round(wait.total_seconds() * 1000))  # 0 would mean no limit
    return f"{milliseconds}ms"
