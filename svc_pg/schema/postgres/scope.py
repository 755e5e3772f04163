"""The scope of a transaction of the installer: its objects, to which its queries of the catalog are limited."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection, RawCursor
from psycopg.rows import tuple_row

from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import SchemaObject, Trigger, name_of


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
    cursor = RawCursor(conn, row_factory=tuple_row).execute(text, params)
    return cursor.fetchall() if cursor.description else []
