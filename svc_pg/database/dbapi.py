"""DB-API connections of any driver whose parameters are ``%s``: psycopg, psycopg2, and wrappers of them."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

from svc_pg.database.sqlstates import unwrapped


class DbApiConnection(Protocol):
    """A DB-API connection whose driver writes parameters as ``%s``: psycopg's, SQLAlchemy's raw one, Django's."""

    def cursor(self) -> Any:
        """Open a cursor."""


def rows(
    conn: DbApiConnection, query: str, params: Sequence[object] | Mapping[str, object] = ()
) -> list[tuple[Any, ...]]:
    """The rows of a query, always as tuples."""
    with closing(conn.cursor()) as cursor:
        cursor.execute(query, params or None)  # with parameters, drivers take % for the beginning of a hole
        return [values_of(row) for row in cursor.fetchall()]


def values_of(row: Any) -> tuple[Any, ...]:
    """The values of a row, which is a mapping if the application's cursors return mappings."""
    return tuple(row.values() if isinstance(row, Mapping) else row)


def execute(conn: DbApiConnection, statement: str, params: Sequence[object] = ()) -> int:
    """Run a statement that returns nothing; returns the number of rows that it changed."""
    with closing(conn.cursor()) as cursor:
        cursor.execute(statement, params or None)
        return int(cursor.rowcount)


def error_number(error: BaseException) -> int | None:
    """The number of an error of a MySQL driver, also inside SQLAlchemy's or Django's; None for any other error."""
    for source in unwrapped(error):
        number = getattr(source, "errno", None) or (source.args[0] if source.args else None)
        if isinstance(number, int):
            return number
    return None
