"""A table of SQLite as its triggers see it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.capture.table import Table
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.capture_dialect import Column

ROWIDS: Final = ("rowid", "_rowid_", "oid")
"""The names of the rowid, each unless a column has it."""
TRIGGER_PREFIX: Final = "00_svc_audit_"


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The columns of a unique index, each with the collation by which the index compares it.

    ``is_rowid`` if it is the rowid itself, which is unknown before an insert that does not give one.
    """

    columns: Sequence[tuple[str, str]]
    is_rowid: bool = False


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """The facts of one table: ``columns`` are all that triggers can see, which is more than the neutral ones know.

    ``unique`` are the keys by which REPLACE may delete a row, the rowid last. ``row_key`` names the columns, or the
    rowid, that tell a row from all others. ``unseen`` are the other unique indexes: of the rows that REPLACE deletes by
    them, no trigger knows.
    """

    table: Table
    columns: Sequence[Column]
    unique: Sequence[UniqueKey]
    row_key: Sequence[str]
    unseen: Sequence[str] = ()


def trigger_name(kind: str, table: TableName) -> str:
    """The name of one of our triggers: a rename of the table keeps it."""
    return f"{TRIGGER_PREFIX}{kind}_{table.table}"
