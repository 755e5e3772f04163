"""The scope of a transaction of the installer: its objects, to which its queries of the catalog are limited."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection, RawCursor
from psycopg.rows import tuple_row

from svc_pg.database.relayed_connection import RelayedConnection
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import SchemaObject, Trigger, name_of

FEW: Final[LiteralString] = (
    "set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_seqscan = off;"
    " set local enable_nestloop = on; set local jit = off"
)
"""The planner of queries about a few objects: each is looked up, however many there are."""
ALL: Final[LiteralString] = (
    "set local enable_hashjoin = on; set local enable_mergejoin = on; set local enable_seqscan = on;"
    " set local enable_nestloop = off; set local jit = off"
)
"""The planner of queries about all objects. The catalog's statistics are those of before they were made, so it would
take them for few, and read all of them again for each.
"""
_ANY: Final[LiteralString] = (
    "set local enable_hashjoin to default; set local enable_mergejoin to default; set local enable_seqscan to default;"
    " set local enable_nestloop to default; set local jit to default"
)


@contextmanager
def planning(conn: Connection[Any], planner: LiteralString) -> Iterator[None]:
    """Plan queries as FEW or ALL says, and then as the session does."""
    conn.execute(planner, prepare=False)
    yield
    conn.execute(_ANY, prepare=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of functions and views in schema ``svc``, and the tables that have triggers."""

    names: list[str]
    tables: list[TableName]

    @classmethod
    def of(cls, items: Iterable[SchemaObject]) -> "Scope":
        """The scope of these objects."""
        names, tables = [], []
        for item in items:
            if item.kind == "trigger":
                tables.append(Trigger.parse(item.identity).table)
            else:
                names.append(name_of(item.identity))
        return cls(names, list(dict.fromkeys(tables)))

    @property
    def params(self) -> tuple[list[str], list[str], list[str]]:
        """The names, and the schemas and names of the tables: $1, $2 and $3 of a query with a scope."""
        return self.names, [table.schema for table in self.tables], [table.table for table in self.tables]


def execute(conn: Connection[Any], text: LiteralString, params: Sequence[object]) -> list[tuple[Any, ...]]:
    """Run a statement whose parameters are $1, $2: those of the catalog are full of percent signs, for format()."""
    cursor = conn.numbered_cursor() if isinstance(conn, RelayedConnection) else RawCursor(conn, row_factory=tuple_row)
    cursor.execute(text, params)
    return cursor.fetchall() if cursor.description else []
