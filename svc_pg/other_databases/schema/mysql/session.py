"""The session of the installer: outside a transaction, with the settings that triggers keep, and with our lock."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from svc_pg.database.dbapi import DbApiConnection, error_number, execute, rows
from svc_pg.database.mysql_errors import IN_TRANSACTION, LOCKED
from svc_pg.errors import ConfigError, InstallError, TransactionError
from svc_pg.schema.install_waits import TRIES

Result = TypeVar("Result")

LOCK: Final = "svc-pg"
"""The name of the server-wide lock of installs, backfills and repairs."""
_UTF8: Final = ("utf8mb4", "utf8mb3", "utf8")
# A trigger keeps both: backslashes escape, and a value that does not fit is an error
SQL_MODE: Final = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
COLLATION: Final = "utf8mb4_bin"


@dataclass(frozen=True, slots=True)
class Server:
    """The server, and the database of the connection, for which ``public`` stands in a configuration."""

    is_mariadb: bool
    version: tuple[int, ...]
    text: str
    database: str


@contextmanager
def pinned(conn: DbApiConnection) -> Iterator[Server]:
    """A session with the settings that triggers keep; leaving restores its own settings, outside a transaction.

    Raises TransactionError if it is inside one: DDL would commit it. Raises ConfigError if the connection has no
    database, or sends another character set than UTF-8.
    """
    try:
        execute(conn, "set transaction isolation level read committed")
    except Exception as error:
        if error_number(error) != IN_TRANSACTION:
            raise
        raise TransactionError(
            "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
        ) from error
    [(text, database, charset, collation, sql_mode, wait, row_wait)] = rows(
        conn,
        "select version(), database(), @@character_set_client, @@collation_connection, @@sql_mode,"
        " @@lock_wait_timeout, @@innodb_lock_wait_timeout",
    )
    if database is None:
        raise ConfigError("the connection has no database", hint="Name one: mysql://user@host/shop.")
    if charset not in _UTF8:
        raise ConfigError(f"the connection sends {charset}", hint="Connect with charset=utf8mb4.")
    execute(conn, "set sql_mode = %s, collation_connection = %s", (SQL_MODE, COLLATION))
    try:
        yield Server("MariaDB" in text, _numbers(text), text, database)
    finally:
        if not is_lost(conn):
            execute(conn, "rollback")
            execute(
                conn,
                "set sql_mode = %s, collation_connection = %s, lock_wait_timeout = %s, innodb_lock_wait_timeout = %s",
                (sql_mode, collation, wait, row_wait),
            )


@contextmanager
def locked(conn: DbApiConnection, wait_for_install: timedelta, wait_for_table: timedelta) -> Iterator[None]:
    """Hold the server-wide lock of installs. Raises InstallError if another install keeps it too long."""
    [(is_ours,)] = rows(conn, "select get_lock(%s, %s)", (LOCK, wait_for_install.total_seconds()))
    if not is_ours:
        raise InstallError(
            f"another install has been running for more than {wait_for_install.total_seconds():g} s",
            hint="Try again when it ends.",
        )
    seconds = max(1, round(wait_for_table.total_seconds()))
    execute(conn, "set lock_wait_timeout = %s, innodb_lock_wait_timeout = %s", (seconds, seconds))
    try:
        yield
    finally:
        if not is_lost(conn):
            rows(conn, "select release_lock(%s)", (LOCK,))


def patiently(work: Callable[[], Result]) -> Result:
    """Do ``work``; try again if others keep a lock."""
    for left in reversed(range(TRIES)):
        try:
            return work()
        except Exception as error:
            if not left or error_number(error) not in LOCKED:
                raise
    raise AssertionError  # the last try returns or raises


def is_lost(conn: DbApiConnection) -> bool:
    """True if the server does not answer on this connection."""
    try:
        rows(conn, "select 1")
    except Exception:  # noqa: BLE001 - each driver has errors of its own
        return True
    return False


def _numbers(version: str) -> tuple[int, ...]:
    """8.0.36-0ubuntu1 -> (8, 0, 36)"""
    plain = version.partition("-")[0]
    return tuple(int(part) for part in plain.split(".") if part.isdigit())
