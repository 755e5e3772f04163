"""Bounds of the questions that the admin may ask the log."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import OperationalError, connections, transaction

from svc_pg.errors import sqlstate

STATEMENT_TIMEOUT: Final = "5s"
_QUERY_CANCELED: Final = "57014"


class LogIsSlow(Exception):
    """The database did not answer in time."""


@contextmanager
def bounded(using: str) -> Iterator[None]:
    """A transaction, or a savepoint, in which a statement ends after 5 s, unless the connection has its own limit.

    Raises LogIsSlow if one does.
    """
    try:
        with transaction.atomic(using=using), connections[using].cursor() as cursor:
            cursor.execute("select current_setting('statement_timeout')")
            [own] = cursor.fetchone()
            if own != "0":
                yield
                return
            cursor.execute("select set_config('statement_timeout', %s, true)", [STATEMENT_TIMEOUT])
            yield
            cursor.execute("select set_config('statement_timeout', '0', true)")
    except OperationalError as error:
        if sqlstate(error)[0] == _QUERY_CANCELED:
            raise LogIsSlow from error
        raise
