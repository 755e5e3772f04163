"""The foreign keys by which rows refer to a record, in one step or two."""

from dataclasses import dataclass
from typing import Final

from svc_pg.audit.read.tables import ENTRY_NAME
from svc_pg.database.effects import Effects
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName

MOST: Final = 40
"""The foreign keys that are read, and told of."""


def _named(prefix: str) -> str:
    return ENTRY_NAME.replace("n.nspname", f"{prefix}n.nspname").replace("c.relname", f"{prefix}c.relname")


REFERENCES: Final = (
    statement("queries/audit/references.sql")
    .replace("{referred_name}", _named("f"))
    .replace("{referring_name}", _named("r"))
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: columns of a table that refer to those of another, whose primary key is ``key_columns``."""

    step: int
    referred: str
    referring: str
    columns: list[str]
    referred_columns: list[str]
    key_columns: list[str]
    is_audited: bool

    @property
    def is_to_key(self) -> bool:
        """True if it refers to the primary key, in the order of its columns."""
        return self.referred_columns == self.key_columns


def references_to(table: TableName) -> Effects[list[Reference]]:
    """The foreign keys that refer to a table, and those that refer to the tables of these; none if it is not there."""
    params = {"schema": table.schema, "table": table.table, "most": MOST}
    found: list[Reference] = yield Query(REFERENCES, params, Reference)
    return found
