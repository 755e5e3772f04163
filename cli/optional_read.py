"""Facts of a database that the command ``status`` shows beside its objects."""

from collections.abc import Callable
from typing import Any, TypeVar

from psycopg.errors import InsufficientPrivilege

from svc_pg.database.dialects import dialect_of
from svc_pg.errors import AccessError, NotInstalledError

Value = TypeVar("Value")


def optional_read(conn: Any, read: Callable[[Any], Value], otherwise: Value) -> Value:
    """Read a fact; return ``otherwise`` on other databases, without the right, or if nothing is installed."""
    if dialect_of(conn) != "postgresql":
        return otherwise
    try:
        with conn.transaction():
            return read(conn)
    except (NotInstalledError, AccessError, InsufficientPrivilege):
        return otherwise
