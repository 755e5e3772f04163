"""Name the columns of audited tables that are new, gone or others since the last install, for people."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, assert_never

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.schema.postgres.installation import Installation

MOST_NAMED: Final = 20
"""The most columns of a table that a note names."""

_READ: Final = statement("queries/schema/changed_columns.sql")


@dataclass(frozen=True, slots=True)
class _Column:
    table_name: str
    name: str
    what: Literal["new", "gone", "renamed", "retyped"]
    before: str | None
    number: int

    @property
    def words(self) -> str:
        match self.what:
            case "new" | "gone":
                return f"{self.name} is {self.what}"
            case "renamed":
                return f"{self.before} is now {self.name}"
            case "retyped":
                return f"{self.name} has another type"
            case _:
                assert_never(self.what)


def notes(conn: Connection[Any], present: Installation, tables: Collection[str]) -> Mapping[str, str]:
    """A note for each of these tables whose columns are not as the last install noted them."""
    if not present.has("audit_relations"):
        return {}
    found = fetch(conn, Query(_READ, {"tables": sorted(tables), "most": MOST_NAMED}, _Column))
    return {table: _note(list(columns)) for table, columns in groupby(found, key=lambda each: each.table_name)}


def _note(columns: list[_Column]) -> str:
    more = columns[0].number - len(columns)
    words = [each.words for each in columns] + ([f"and {more} more"] if more else [])
    return f"its columns changed since the last install: {', '.join(words)}"
