"""Time limits of the admin's queries of the log."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from django.db import OperationalError, connections, transaction

from svc_pg.database.dbapi import error_number
from svc_pg.database.mysql_errors import TOO_LONG
from svc_pg.database.sqlstates import sqlstate

STATEMENT_TIMEOUT = timedelta(seconds=5)
_QUERY_CANCELED: Final = "57014"
_STEPS: Final = 20_000
"""Instructions of SQLite's virtual machine between two looks at the clock: some milliseconds."""


class LogIsSlow(Exception):
    """The database did not answer in time."""


@contextmanager
def bounded(using: str) -> Iterator[None]:
    """A transaction, or a savepoint, in which a statement ends after 5 s, unless the connection has its own limit.

    On SQLite the limit holds for all statements together, and the application's progress handler is lost. Raises
    LogIsSlow if a statement meets the limit.
    """
    limits = {"sqlite": _sqlite, "mysql": _mysql}
    try:
        with limits.get(connections[using].vendor, _postgres)(using, STATEMENT_TIMEOUT.total_seconds()):
            yield
    except OperationalError as error:
        if _is_late(error):
            raise LogIsSlow from error
        raise


def _is_late(error: OperationalError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return sqlstate(error)[0] == _QUERY_CANCELED or code == sqlite3.SQLITE_INTERRUPT or error_number(error) in TOO_LONG


@contextmanager
def _postgres(using: str, seconds: float) -> Iterator[None]:
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("select current_setting('statement_timeout')")
        [own] = cursor.fetchone()
        if own != "0":
            yield
            return
        cursor.execute("select set_config('statement_timeout', %s, true)", [f"{round(seconds * 1000)}ms"])
        yield
        cursor.execute("select set_config('statement_timeout', '0', true)")


@contextmanager
def _sqlite(using: str, seconds: float) -> Iterator[None]:
    with transaction.atomic(using=using):
        driver: Any = connections[using].connection
        ends_at = time.monotonic() + seconds
        driver.set_progress_handler(lambda: time.monotonic() > ends_at, _STEPS)
        try:
            yield
        finally:
            driver.set_progress_handler(None, 0)


@contextmanager
def _mysql(using: str, seconds: float) -> Iterator[None]:
    connection: Any = connections[using]
    if connection.mysql_is_mariadb:
        name, limit = "max_statement_time", seconds
    else:
        name, limit = "max_execution_time", round(seconds * 1000)
    with connection.cursor() as cursor:
        cursor.execute(_READ[name])
        [own] = cursor.fetchone()
        if own:
            with transaction.atomic(using=using):
                yield
            return
        cursor.execute(_SET[name], [limit])
        try:
            with transaction.atomic(using=using):
                yield
        finally:
            cursor.execute(_SET[name], [0])


_READ: Final = {
    "max_statement_time": "select @@max_statement_time",
    "max_execution_time": "select @@max_execution_time",
}
_SET: Final = {
    "max_statement_time": "set max_statement_time = %s",
    "max_execution_time": "set max_execution_time = %s",
}
