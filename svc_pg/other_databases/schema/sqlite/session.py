"""Transactions of the installer on an application's connection, which keeps its own settings."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any, Final

from svc_pg.errors import InstallError, TransactionError

OLDEST: Final = (3, 38)
"""The first SQLite with the operators of JSON and with format()."""


@contextmanager
def reading(conn: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """A transaction that sees one state of the database and is rolled back."""
    with _cursor(conn) as cursor:
        cursor.execute("begin")
        try:
            yield cursor
        finally:
            _rollback(conn, cursor)


@contextmanager
def writing(conn: sqlite3.Connection, *, wait: timedelta) -> Iterator[sqlite3.Cursor]:
    """A transaction with the lock of the file, after a wait of at most ``wait``. Raises InstallError."""
    with _cursor(conn) as cursor:
        [patience] = cursor.execute("pragma busy_timeout").fetchone()
        cursor.execute(_busy_timeout(wait))
        try:
            cursor.execute("begin immediate")
            try:
                yield cursor
                cursor.execute("commit")
            except BaseException:
                _rollback(conn, cursor)
                raise
        finally:
            cursor.execute(_busy_timeout(timedelta(milliseconds=patience)))


@contextmanager
def _cursor(conn: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """A cursor whose rows are tuples of texts. Raises InstallError instead of SQLite's errors."""
    factory = conn.text_factory
    try:
        with closing(conn.cursor()) as cursor:
            cursor.row_factory = None
            conn.text_factory = str
            _check(conn, cursor)
            yield cursor
    except Exception as error:
        if (problem := _explained(error)) is None:
            raise
        raise problem from error
    finally:
        conn.text_factory = factory


def _check(conn: sqlite3.Connection, cursor: sqlite3.Cursor) -> None:
    if conn.in_transaction:
        raise TransactionError(
            "the connection is inside a transaction",
            hint="Commit or roll back first, or use a connection of its own, without autocommit=False.",
        )
    [version] = cursor.execute("select sqlite_version()").fetchone()
    if tuple(int(part) for part in version.split(".")) < OLDEST:
        raise InstallError(f"SQLite {version} is too old", hint="Use Python with SQLite 3.38 or later.")


def _busy_timeout(wait: timedelta) -> str:
    return f"pragma busy_timeout = {max(0, round(wait.total_seconds() * 1000))}"


def _rollback(conn: sqlite3.Connection, cursor: sqlite3.Cursor) -> None:
    if conn.in_transaction:  # some errors have rolled back already
        cursor.execute("rollback")


_HINTS: Final = {
    "SQLITE_BUSY": "Another program writes to the file. Try again when it ends, or wait longer: --lock-timeout.",
    "SQLITE_LOCKED": "Another connection of this program uses the database. Close it first.",
    "SQLITE_READONLY": "The file, or its folder, may not be written to by this user.",
    "SQLITE_CANTOPEN": "SQLite needs to create files beside the database: may this user write to its folder?",
    "SQLITE_NOTADB": "It is another kind of file, or an encrypted one.",
    "SQLITE_CORRUPT": "Restore it from a backup.",
    "SQLITE_FULL": "The disk is full.",
}


def hint_of(error: Any) -> str | None:
    """The advice for an error of sqlite3 or pysqlite3, if there is any."""
    if "no such function: svc_" in str(error):
        return "Rules hash a column, or refuse writers without an actor: wrap the connection with_audit."
    if "unsafe use of" in str(error):
        return "trusted_schema is off on this connection: older SQLite lets no trigger use JSON then. Switch it on."
    name = getattr(error, "sqlite_errorname", None) or ""
    return _HINTS.get("_".join(name.split("_")[:2]))


def _explained(error: Any) -> InstallError | None:
    """The InstallError of an error of sqlite3 or pysqlite3; None if it is another."""
    if not getattr(error, "sqlite_errorname", None):
        return None
    return InstallError(f"SQLite says: {error}", hint=hint_of(error))
