"""Connections to a database of SQLite, MySQL or MariaDB for one call, whose statements end after a time."""

import sqlite3
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from svc_pg.console.http.requests import Problem, unavailable
from svc_pg.database.addresses import MySqlServer, SqliteFile
from svc_pg.database.dbapi import error_number
from svc_pg.database.mysql_tls import unverified
from svc_pg.errors import AccessError, NotInstalledError, UnsupportedQueryError
from svc_pg.other_databases.log.driver_errors import is_busy, is_too_long

Address = SqliteFile | MySqlServer

_CONNECT_SECONDS: Final = 5
_STEPS: Final = 20_000
"""Instructions of SQLite's virtual machine between two looks at the clock: some milliseconds."""
_TIMEOUTS: Final[Mapping[bool, str]] = {
    True: "set session max_statement_time = %s, innodb_lock_wait_timeout = %s",
    False: "set session max_execution_time = %s * 1000, innodb_lock_wait_timeout = %s",
}
_UNREACHABLE: Final = frozenset({1040, 1044, 1045, 1049, 1203, 2002, 2003, 2006, 2013, 2026})


def new_connection(address: Address, *, seconds: int) -> Any:
    """A connection that commits each statement; a call ends after ``seconds``."""
    return _sqlite(address, seconds) if isinstance(address, SqliteFile) else _mysql(address, seconds)


def _sqlite(file: SqliteFile, seconds: int) -> sqlite3.Connection:
    """Not read-only, which a file with a write-ahead log does not permit to everybody."""
    ends_at = time.monotonic() + seconds
    path = quote(str(file.path.absolute()))
    conn = sqlite3.connect(f"file:{path}?mode=rw", uri=True, isolation_level=None, timeout=seconds)
    conn.set_progress_handler(lambda: time.monotonic() > ends_at, _STEPS)
    return conn


def _mysql(server: MySqlServer, seconds: int) -> Any:
    conn: Any = _connection_class()(
        **server.arguments,
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=seconds + 1,
        write_timeout=seconds + 1,
    )
    try:
        with conn.cursor() as cursor:
            cursor.execute(_TIMEOUTS["MariaDB" in conn.get_server_info()], (seconds, seconds))
    except BaseException:
        conn.close()
        raise
    return conn


@cache
def _connection_class() -> Any:
    """PyMySQL's connections, sharing the context of those without options of TLS: each made its own in 23 ms of CPU.

    They verify nothing, but PyMySQL reads all authorities that the machine trusts.
    """
    import pymysql  # of the extra mysql

    shared = unverified()
    connection: Any = pymysql.Connection

    class Sharing(connection):  # type: ignore[misc]  # known at runtime only
        def _create_ssl_ctx(self, sslp: Any) -> Any:
            return super()._create_ssl_ctx(sslp) if sslp else shared

    return Sharing


def problem_of(error: Exception) -> Problem | None:
    """The problem that an error stands for; None if it is a mistake of ours, or one that the routes know."""
    code = error_number(error)
    match error:
        case NotInstalledError():
            return unavailable("not_installed", "The database has no svc-pg, or an older one. Run: svc-pg install")
        case AccessError():
            return unavailable("access_denied", f"{_sentence(error.message)} {error.hint or ''}".strip())
        case UnsupportedQueryError():
            return Problem(422, "not_supported", _sentence(error.message))
    is_interrupted = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    if is_interrupted or is_too_long(error):
        return unavailable("database_timeout", "The database took too long; ask for less.")
    if is_busy(error):
        return unavailable("database_busy", "Other transactions are in the way; try again.")
    if code in _UNREACHABLE or isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError | OSError):
        return unavailable("database_unavailable", "The database of the audit log cannot be reached at the moment.")
    return None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
