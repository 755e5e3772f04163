"""The pieces in which a table is compared with the log: some pages of its rows, some records of the log."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from psycopg.sql import SQL, Composable, Identifier, Literal

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName

PAGES: Final = 64
RECORDS: Final = 5000

_MOST_ROWS_OF_PAGE: Final = 291
"""The most rows in a page of 8 KiB; larger pages hold more, but 13 and 14 do not read them by range."""
_RANGES_SINCE: Final = 140000
"""The server version from which a range of pages is read without the rest of the table."""
_LEAVES: Final = statement("queries/capture/leaf_tables.sql")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table or partition that has rows of its own: its file, and the number of its pages; None if it has no file."""

    oid: int
    schema: str
    table: str
    file: int
    pages: int | None

    @property
    def name(self) -> TableName:
        """Its name."""
        return TableName(self.schema, self.table)


def leaves_of(table: TableName) -> Query[Leaf]:
    """The leaves of a table, itself if it has no partitions."""
    name = Identifier(*table).as_string()
    return Query(_LEAVES, (name, name), Leaf)


def pieces_of(leaf: Leaf, *, server_version: int, first: int = 0) -> Iterator[tuple[int, Composable | None]]:
    """The first page of each piece, and the condition for its rows; None are all rows."""
    if leaf.pages is None:
        yield 0, None
    for page in range(first, leaf.pages or 0, PAGES):
        yield page, pages_from(page, by_range=server_version >= _RANGES_SINCE)


def pages_from(first: int, *, by_range: bool) -> Composable:
    """The condition for the rows in the PAGES from a first one on; old servers read them one by one."""
    if by_range:
        return SQL('"svc row".ctid >= {}::tid and "svc row".ctid < {}::tid').format(
            Literal(f"({first},0)"), Literal(f"({first + PAGES},0)")
        )
    return SQL(
        '"svc row".ctid = any (array(select format($$(%s,%s)$$, p, n)::tid'
        " from generate_series({}::bigint, {}::bigint) p, generate_series(1, {}) n))"
    ).format(Literal(first), Literal(first + PAGES - 1), Literal(_MOST_ROWS_OF_PAGE))
