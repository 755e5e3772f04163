"""A query is a value: text, parameters and the row it makes. Two lines run it, sync or async."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, LiteralString, TypeVar

from psycopg import AsyncConnection, Connection
from psycopg.rows import AsyncRowFactory, RowFactory, class_row

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Query(Generic[Row]):
    """One statement, its parameters (by position or name) and the class that a row becomes, column by column name."""

    text: LiteralString
    params: Sequence[object] | Mapping[str, object]
    row: type[Row]


def fetch(conn: Connection[Any], query: Query[Row]) -> list[Row]:
    """Run ``query`` on ``conn`` and return all rows. Never commits."""
    factory: RowFactory[Row] = class_row(query.row)
    return conn.cursor(row_factory=factory).execute(query.text, query.params).fetchall()


async def afetch(conn: AsyncConnection[Any], query: Query[Row]) -> list[Row]:
    """Run ``query`` on ``conn`` and return all rows. Never commits."""
    factory: AsyncRowFactory[Row] = class_row(query.row)
    return await (await conn.cursor(row_factory=factory).execute(query.text, query.params)).fetchall()
