"""The transactions of the installer: short, READ COMMITTED, with a pinned search_path and, for changes, our lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import LockNotAvailable

from svc_pg.advisory_locks import Lock
from svc_pg.audit.patient_steps import check_idle
from svc_pg.errors import InstallError
from svc_pg.schema.patience import FOR_INSTALL, FOR_TABLE


@dataclass(frozen=True, slots=True)
class Patience:
    """The longest waits for another install, and, each time, for the lock of a table."""

    for_install: timedelta = FOR_INSTALL
    for_table: timedelta = FOR_TABLE


# names and intervals that the catalog prints are compared with those of the record
_SETTINGS: Final = (
    "set transaction isolation level read committed; set local search_path = pg_catalog, pg_temp;"
    " set local quote_all_identifiers = off; set local intervalstyle = postgres"
)
# the limit for tables is set when the lock is there
_LOCK: Final = "select set_config('lock_timeout', %s, true) from pg_advisory_xact_lock(%s, %s)"


@contextmanager
def transaction(conn: Connection[Any]) -> Iterator[None]:
    """A transaction of its own. Raises TransactionError if the connection is in one already."""
    check_idle(conn)
    with conn.transaction():
        # each statement must see the commits of the previous holder of the lock
        conn.execute(_SETTINGS, prepare=False)  # as one: a statement that is prepared would have to be alone
        yield


@contextmanager
def locked(conn: Connection[Any], patience: Patience) -> Iterator[None]:
    """A transaction that holds the install lock. Raises InstallError if another install keeps it too long."""
    with transaction(conn):
        conn.execute("select set_config('lock_timeout', %s, true)", (_limit(patience.for_install),))
        try:
            conn.execute(_LOCK, (_limit(patience.for_table), *Lock.INSTALL.key))
        except LockNotAvailable as error:
            raise InstallError(
                f"another install has been running for more than {patience.for_install.total_seconds():g} s",
                hint="Try again when it ends.",
            ) from error
        yield


def _limit(wait: timedelta) -> str:
    milliseconds = max(1, round(wait.total_seconds() * 1000))  # 0 would mean no limit
    return f"{milliseconds}ms"
