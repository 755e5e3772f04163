"""A query is a value: text, parameters and the row it makes. Two lines run it, sync or async."""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, LiteralString, TypeVar, cast

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.errors import UndefinedColumn
from psycopg.rows import BaseRowFactory, RowMaker, kwargs_row, scalar_row

from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.datestyle import areadable_datestyle, readable_datestyle
from svc_pg.database.sqlstates import translating
from svc_pg.errors import NotFoundError, another_version
from svc_pg.formats.json_writer import Verbatim

Row = TypeVar("Row")


class RawJson(str, Verbatim):
    """A JSON text exactly as PostgreSQL wrote it: ``json.loads`` would change 12345678901234567.10.

    In a payload or a context it is written as JSON, not as a string.
    """

    __slots__ = ()

    @property
    def text(self) -> str:
        """The text itself."""
        return self

    @property
    def value(self) -> Any:
        """The parsed text; numbers with a fraction are Decimal."""
        return json.loads(self, parse_float=Decimal)


class _RawJsonLoader(Loader):
    def load(self, data: Buffer) -> RawJson:
        return RawJson(bytes(data), "utf-8")


@dataclass(frozen=True, slots=True)
class Query(Generic[Row]):
    """One statement, its parameters (by position or name) and the callable, for example a class, that makes a row.

    Columns of type json and jsonb arrive as RawJson. ``absent`` is the message of NotFoundError if no row comes back.
    """

    text: LiteralString
    params: Sequence[object] | Mapping[str, object]
    row: Callable[..., Row]
    absent: str | None = None


def fetch(conn: Connection[Any], query: Query[Row]) -> list[Row]:
    """Run ``query`` and return all rows. Never commits. Raises an SvcError for an SQLSTATE of ours.

    ``conn`` may be anything that holds a connection of psycopg: see ``svc_pg.database.connections``.
    """
    conn = psycopg_connection(conn)
    cursor = keep_json(conn.cursor(row_factory=kwargs_row(query.row)))
    with _translating(query), readable_datestyle(conn):
        return _present(query, cursor.execute(query.text, query.params or None).fetchall())


async def afetch(conn: AsyncConnection[Any], query: Query[Row]) -> list[Row]:
    """As ``fetch``, on an async connection."""
    conn = await apsycopg_connection(conn)
    cursor = keep_json(conn.cursor(row_factory=kwargs_row(query.row)))
    with _translating(query):
        async with areadable_datestyle(conn):
            return _present(query, await (await cursor.execute(query.text, query.params or None)).fetchall())


async def afetch_within(conn: AsyncConnection[Any], query: Query[Row], *, max_bytes: int) -> tuple[list[Row], bool]:
    """The first rows of ``query``, up to ``max_bytes`` together and at least one, and whether these are all.

    If they are not, the statement is canceled, which ends the transaction of ``conn``. Raises as ``fetch`` does.
    """
    rows: list[Row] = []
    used = 0
    conn = await apsycopg_connection(conn)
    cursor = keep_json(conn.cursor(row_factory=_sized(query.row)))
    with _translating(query):
        # row by row, as the server makes them: it waits when its client has not taken the ones before
        found = cast(AsyncGenerator[tuple[int, Row]], cursor.stream(query.text, query.params or None))
        async with aclosing(found):
            async for size, row in found:
                used += size
                if rows and used > max_bytes:
                    return rows, False
                rows.append(row)
    return _present(query, rows), True


def _sized(row: Callable[..., Row]) -> BaseRowFactory[tuple[int, Row]]:
    """Make rows, each with the size of its texts in bytes."""

    def factory(cursor: Any) -> RowMaker[tuple[int, Row]]:
        make = kwargs_row(row)(cursor)
        return lambda values: (_bytes(values), make(values))

    return factory


def _bytes(value: object) -> int:
    match value:
        case str():
            return len(value) if value.isascii() else len(value.encode())
        case list() | tuple():
            return sum(map(_bytes, value))
    return 0


@contextmanager
def _translating(query: Query[Any]) -> Iterator[None]:
    """As ``translating``, and also for a missing column in a statement that reads schema svc."""
    try:
        with translating():
            yield
    except UndefinedColumn as error:
        if "svc." not in query.text:  # of a table of the application's
            raise
        raise another_version() from error


def fetch_one(conn: Connection[Any], query: Query[Row]) -> Row:
    """The only row of ``query``. Never commits. Raises as ``fetch`` does."""
    [row] = fetch(conn, query)
    return row


async def afetch_one(conn: AsyncConnection[Any], query: Query[Row]) -> Row:
    """As ``fetch_one``, on an async connection."""
    [row] = await afetch(conn, query)
    return row


def _present(query: Query[Row], rows: list[Row]) -> list[Row]:
    if not rows and query.absent:
        raise NotFoundError(query.absent)
    return rows


def scalar(conn: Connection[Any], text: LiteralString, params: Sequence[object] = ()) -> Any:
    """Run ``text`` and return the first column of its first row, or None."""
    return conn.cursor(row_factory=scalar_row).execute(text, params or None).fetchone()


AnyCursor = TypeVar("AnyCursor", Cursor[Any], AsyncCursor[Any])


def keep_json(cursor: AnyCursor) -> AnyCursor:
    """Make a cursor return json and jsonb as RawJson."""
    cursor.adapters.register_loader("json", _RawJsonLoader)
    cursor.adapters.register_loader("jsonb", _RawJsonLoader)
    return cursor
