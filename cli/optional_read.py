"""Facts of a database that the command ``status`` shows beside its objects."""

from collections.abc import Callable
from typing import Any, TypeVar

from psycopg.errors import InsufficientPrivilege, QueryCanceled

from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.errors import AccessError, NotInstalledError

from . import output
from .database import is_postgresql

Value = TypeVar("Value")


def optional_read(conn: Any, read: Callable[[Any], Value], otherwise: Value) -> Value:
    """Read a fact; return ``otherwise`` on other databases, without the right, or if nothing is installed."""
    if not is_postgresql(conn):
        return otherwise
    try:
        with conn.transaction():
            return read(conn)
    except (NotInstalledError, AccessError, InsufficientPrivilege):
        return otherwise


def quick_read(conn: Any, read: Callable[[Any], Value], otherwise: Value, *, slow: str | None = None) -> Value:
    """As ``optional_read``, by indexes alone; also ``otherwise`` after 3 seconds, with the words ``slow`` if given."""

    def read_by_indexes(conn: Any) -> Value:
        conn.execute(BY_INDEXES)
        return read(conn)

    try:
        return optional_read(conn, read_by_indexes, otherwise)
    except QueryCanceled:
        if slow:
            output.words(slow)
        return otherwise
