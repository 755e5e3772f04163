"""The tables of an application, and what may be read of them, in a database of any kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal, Protocol

from svc_pg.capture.table import Table
from svc_pg.database.dialects import Dialect, dialect_of
from svc_pg.database.table_names import TableName

SAMPLE_ROWS: Final = 200
SAMPLE_CHARACTERS: Final = 128
SAMPLE_MILLISECONDS: Final = 2000

Values = Literal["text", "number"]
"""Values that can be sampled: as texts, or as numbers that may be payment cards."""

_READERS: Final[Mapping[Dialect, str]] = {
    "postgresql": "svc_pg.scaffold.postgres_tables",
    "sqlite": "svc_pg.scaffold.sqlite_tables",
    "mysql": "svc_pg.scaffold.mysql_tables",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table that could be audited.

    ``named`` are the columns whose names may tell something; dates and truth values tell nothing. ``sampled`` are those
    whose values may be read, with their sort. ``unread`` is the reason why no value, or not each, may be read.
    ``nearly_key`` are the columns of a unique index that lets NULL in, of a table that has no other key.
    """

    table: Table
    named: Mapping[str, Values]
    sampled: Mapping[str, Values]
    unread: str | None = None
    nearly_key: Sequence[str] = ()

    @property
    def keys(self) -> Sequence[Sequence[str]]:
        """The keys that tell the records apart: the primary key, or each unique one, the shortest first."""
        return [self.table.key] if self.table.key else sorted(self.table.unique, key=lambda key: (len(key), key))

    @property
    def name(self) -> TableName:
        """The name of the table."""
        return self.table.name


@dataclass(frozen=True, slots=True)
class Found:
    """The tables of a database in order, and those that cannot be audited, each with its reason."""

    candidates: Sequence[Candidate]
    left_out: Mapping[TableName, str]


class Reader(Protocol):
    """Reads one database, on a connection that is outside a transaction. Changes nothing."""

    default_schema: str
    has_events: bool
    """True if changes of its tables can be sent."""

    def find(self) -> Found:
        """The tables of the application."""

    def sample(self, candidate: Candidate) -> Mapping[str, Sequence[str]] | None:
        """At most SAMPLE_ROWS values of each sampled column, cut; None if they cannot be read."""


def reader_of(conn: Any) -> Reader:
    """The reader of the database that a connection leads to. Raises ConfigError for one that svc-pg does not know."""
    reader: Reader = import_module(_READERS[dialect_of(conn)]).reader_on(conn)
    return reader


def by_column(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
    """The values of rows by their columns, without nulls and without what is no text."""
    return {
        column: [str(row[index]) for row in rows if isinstance(row[index], str | int)]
        for index, column in enumerate(columns)
    }
