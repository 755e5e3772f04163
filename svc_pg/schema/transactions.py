"""The transactions of the installer: short, READ COMMITTED, with a pinned search_path and, for changes, our lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus

from svc_pg.errors import InstallError, TransactionError

_LOCK_CLASS: Final = 1937138032  # 'svc0': the first half of all our advisory locks
_INSTALL_LOCK: Final = 0


@contextmanager
def transaction(conn: Connection[Any]) -> Iterator[None]:
    """A transaction of its own. Raises TransactionError where the connection is in one already."""
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise TransactionError(
            "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
        )
    with conn.transaction():
        # each statement must see what the previous holder of the lock has committed
        conn.execute("set transaction isolation level read committed")
        conn.execute("set local search_path = pg_catalog, pg_temp")
        yield


@contextmanager
def locked(conn: Connection[Any], *, wait_for_install: str = "60s", wait_for_table: str = "5s") -> Iterator[None]:
    """A transaction that holds the install lock. Raises InstallError where another install keeps it too long."""
    with transaction(conn):
        _set_lock_timeout(conn, wait_for_install)
        try:
            conn.execute("select pg_advisory_xact_lock(%s, %s)", (_LOCK_CLASS, _INSTALL_LOCK))
        except LockNotAvailable as error:
            raise InstallError(
                f"another install has been running for more than {wait_for_install}", hint="Try again when it ends."
            ) from error
        _set_lock_timeout(conn, wait_for_table)
        yield


def _set_lock_timeout(conn: Connection[Any], timeout: str) -> None:
    conn.execute("select set_config('lock_timeout', %s, true)", (timeout,))
