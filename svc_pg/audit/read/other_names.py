"""The other names of a table that was renamed: each name has a past of its own."""

from dataclasses import dataclass
from typing import Final

from svc_pg.database.query import Query
from svc_pg.database.statements import statement

_OTHER_NAMES: Final = statement("queries/audit/other_names.sql")


@dataclass(frozen=True, slots=True)
class OtherNames:
    """The other ``names`` under which the log has entries of a table, and the ``tables`` that had its name before."""

    names: list[str]
    tables: list[str]


def other_names(table: str) -> Query[OtherNames]:
    """The other names of the table with this name in entries."""
    return Query(_OTHER_NAMES, {"table": table}, OtherNames)
