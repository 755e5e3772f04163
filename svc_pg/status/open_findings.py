"""The differences of tables from the log that their last comparisons found, and that no repair has recorded."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from svc_pg.database.query import Query
from svc_pg.database.statements import statement

MOST: Final = 200
"""The most tables with differences that are read."""
DAYS: Final = 400
"""A comparison is told for so long, so that the partitions of older entries need not be read."""

_RECONCILED: Final = statement("queries/status/reconciled.sql")
LAST: Final = (
    statement("queries/status/last_reconciliations.sql")
    .replace("{newest}", _RECONCILED.replace("{since}", ' and e."timestamp" >= t.at'))
    .replace("{reconciled}", _RECONCILED.replace("{since}", ""))
)
"""The last recorded comparison, in the last ``days``, of each of {tables} that has one."""
_AUDITED: Final = (
    "select distinct o.audited_table as name from svc.installed_objects o where o.audited_table is not null"
)
_READ: Final = statement("queries/status/open_findings.sql").replace("{last}", LAST.replace("{tables}", _AUDITED))


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A table whose last recorded comparison, at ``found_at``, left ``unrepaired`` differences.

    It found ``missing`` rows, ``differing`` ones, and records ``gone`` from the table, also those that it repaired. The
    next comparison of the table that is recorded takes its place. One of more than 400 days ago is not told.
    """

    table_name: str
    found_at: datetime
    unrepaired: int
    missing: int
    differing: int
    gone: int


def open_findings() -> Query[OpenFinding]:
    """The first tables, by name. Run ``BY_INDEXES`` before it, in the same transaction."""
    return Query(_READ, {"most": MOST, "days": DAYS}, OpenFinding)
