"""A table of SQLite, as its triggers see it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.capture.table import Table
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.capture_dialect import Column

ROWIDS: Final = ("rowid", "_rowid_", "oid")
"""The names of the rowid; a column of the same name hides one."""
TRIGGER_PREFIX: Final = "00_svc_audit_"


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The columns of a unique index, each with its collation in the index.

    ``is_rowid`` if it is the rowid itself, which is unknown before an insert that does not give one.
    """

    columns: Sequence[tuple[str, str]]
    is_rowid: bool = False


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """The facts of one table; ``columns`` are all that triggers can see, more than ``table`` has.

    ``unique`` are the keys by which REPLACE may delete a row, the rowid last. ``row_key`` names the columns, or the
    rowid, that identify a row. ``unseen`` are the other unique indexes: no trigger sees the rows that REPLACE deletes
    by them.
    """

    table: Table
    columns: Sequence[Column]
    unique: Sequence[UniqueKey]
    row_key: Sequence[str]
    unseen: Sequence[str] = ()


def trigger_name(kind: str, table: TableName) -> str:
    """The name of one of our triggers: a rename of the table keeps it."""
    return f"{TRIGGER_PREFIX}{kind}_{table.table}"
