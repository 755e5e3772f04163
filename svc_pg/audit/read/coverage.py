"""The coverage of a database: each table, whether its changes are recorded, what of them, and the reason if not."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, LiteralString, Self, Unpack, get_args

from psycopg import AsyncConnection, Connection

from svc_pg.audit.read.coverage_days import TableDays, days_of
from svc_pg.audit.read.coverage_filters import CoverageFilter, State
from svc_pg.audit.read.covered_tables import CoverageCounts, CoveredTable, ReconciledTables, RecordedComparison
from svc_pg.audit.read.tables import CAPTURED, ENTRY_NAME
from svc_pg.capture.patterns import covering, posix
from svc_pg.config.audit import AuditConfig
from svc_pg.config.audited_table import AuditedTable
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.filters import applied
from svc_pg.database.pagination import Filter, Keyset, Listing, Page, decode
from svc_pg.database.performing import ByIndexes, OfWhole, arun, run
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import QueryError
from svc_pg.status import open_findings

MOST_SCHEMAS: Final = 200
"""The most schemas whose names are told with the counts."""
MOST_RECONCILED: Final = 1_000
"""The most tables whose last comparison is told with the counts: of each, up to 400 partitions are probed."""

_FEATURE: Final = "the coverage of a database"
_TABLES: Final[LiteralString] = (
    statement("queries/audit/covered_tables.sql").replace("{name}", ENTRY_NAME).replace("{captured}", CAPTURED)
)
_DETAILS: Final[LiteralString] = statement("queries/audit/coverage_details.sql").replace(
    "{last}", open_findings.LAST.replace("{tables}", "select pg_catalog.unnest(%(names)s::text[]) as name")
)
_FIRST: Final[LiteralString] = """
select distinct o.audited_table as name from svc.installed_objects o
 where o.audited_table is not null and not o.audited_table ^@ 'svc.' order by 1 limit %(most)s
"""
_LAST: Final[LiteralString] = statement("queries/audit/last_reconciliation.sql").replace(
    "{last}", open_findings.LAST.replace("{tables}", _FIRST)
)
_COUNTS: Final[LiteralString] = statement("queries/audit/coverage_counts.sql")


@dataclass(frozen=True, slots=True)
class _Detail:
    name: str
    is_there: bool
    columns: list[str]
    has_key: bool
    partitions: int | None
    estimated_rows: int | None
    reconciled_at: datetime | None
    compared_rows: int
    missing: int
    differing: int
    gone: int
    unrepaired: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageQuery(Listing[CoveredTable]):
    """The tables by schema and name, page by page. Every method but ``list``, ``alist`` and counts gives a new one."""

    rules: Sequence[AuditedTable] = ()

    def list(self, conn: Connection[Any]) -> Page[CoveredTable]:
        """Run on a sync connection to PostgreSQL. Never commits. Raises NotInstalledError."""
        require_postgres(conn, _FEATURE)
        return run(conn, self.page())

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[CoveredTable]:
        """As ``list``, on an async connection; ``max_bytes`` as in other lists."""
        require_postgres(conn, _FEATURE)
        return await arun(conn, self.page(max_bytes=max_bytes))

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[CoveredTable]]:
        """The effects of ``list`` and ``alist``. A table that is dropped meanwhile keeps its name and state."""
        found: Page[CoveredTable] = yield from Listing.page(self, max_bytes=max_bytes)
        if not found.data:
            return found
        details: list[_Detail] = yield ByIndexes(self._details(found.data))
        days = yield from days_of([table.name for table in found])
        of = {detail.name: detail for detail in details}
        shown = [_with_details(table, of[table.name], days.get(table.name), self.rules) for table in found]
        return replace(found, data=shown)

    def counts(self, conn: Connection[Any]) -> CoverageCounts:
        """Count the tables that the filters select, on a sync connection. Never commits. Raises NotInstalledError."""
        require_postgres(conn, _FEATURE)
        return run(conn, self._counted())

    async def acounts(self, conn: AsyncConnection[Any]) -> CoverageCounts:
        """As ``counts``, on an async connection."""
        require_postgres(conn, _FEATURE)
        return await arun(conn, self._counted())

    def state(self, state: State) -> Self:
        """Tables in this state. Raises QueryError if there is none."""
        if state not in get_args(State):
            raise QueryError(f"{state!r} is not a state", hint=f"States are {', '.join(get_args(State))}.")
        return self._where("c.state = %s", state)

    def schema(self, name: str) -> Self:
        """Tables of this schema."""
        return self._where("c.schema = %s", name)

    def text(self, words: str) -> Self:
        """Tables with these letters in their name or that of their schema."""
        return self._where("strpos(lower(c.name), lower(%s)) > 0", words)

    def _counted(self) -> Effects[CoverageCounts]:
        params = {"most": MOST_RECONCILED, "days": open_findings.DAYS}
        last: ReconciledTables
        [last] = yield ByIndexes(Query(_LAST, params, ReconciledTables))
        text = _COUNTS.replace("{tables}", _TABLES + self.filter.clause)
        values = (MOST_SCHEMAS, *self.filter.params)
        counts: CoverageCounts
        [counts] = yield OfWhole(Query(text, values, partial(CoverageCounts, reconciled=last)))
        return counts

    def _details(self, tables: Sequence[CoveredTable]) -> Query[_Detail]:
        names = [TableName.parse(table.name) for table in tables]
        params = {
            "names": [table.name for table in tables],
            "schemas": [name.schema for name in names],
            "tables": [name.table for name in names],
            "columns": sorted({column for rules in self.rules for column in _configured(rules)}),
            "days": open_findings.DAYS,
        }
        return Query(_DETAILS, params, _Detail)


def coverage(config: AuditConfig, **filters: Unpack[CoverageFilter]) -> CoverageQuery:
    """Each table of a PostgreSQL database, compared with ``config``: recorded, drifting or not, and why not.

    Its entries by day are of the last 14 days: counted, or estimated from a sample if there are more than 50,000.
    Raises QueryError for a value that is too long.
    """
    names = [str(TableName.parse(rules.name)) for rules in config.tables if not rules.is_pattern]
    patterns = [
        {"covers": posix(rules.name), "excludes": [posix(name) for name in rules.exclude]}
        for rules in config.tables
        if rules.is_pattern
    ]
    by_name = Keyset(
        select=_TABLES,
        row=CoveredTable,
        order=" order by c.schema, c.name",
        beyond="(c.schema, c.name) > (%s, %s)",
        reverse_order=" order by c.schema desc, c.name desc",
        before="(c.schema, c.name) < (%s, %s)",
        key=lambda table: (table.schema, table.name),
        read=lambda cursor: decode(cursor, str, str),
        choice=OfWhole,
    )
    start = Filter(params=(names, json.dumps(patterns), names))
    return applied(CoverageQuery(keyset=by_name, filter=start, rules=config.tables), CoverageFilter, filters)


def _configured(rules: AuditedTable) -> set[str]:
    return {*rules.redactions, *rules.ignore, *(rules.columns or ())}


def _with_details(
    table: CoveredTable, detail: _Detail, days: TableDays | None, rules: Sequence[AuditedTable]
) -> CoveredTable:
    """The table with what else is known of it; of its rules only those of columns that it has."""
    found = covering(rules, TableName.parse(table.name)) if table.state != "not_audited" else None
    return replace(
        table,
        redact={column: found.redactions[column] for column in detail.columns if column in found.redactions}
        if found
        else {},
        ignore=[column for column in detail.columns if column in found.ignore] if found else [],
        columns=[column for column in detail.columns if column in found.columns] if found and found.columns else None,
        has_key=detail.has_key or bool(found and found.key),
        partitions=detail.partitions,
        estimated_rows=detail.estimated_rows,
        days=days.days if days else [],
        last_entry_at=days.last if days else None,
        reconciliation=RecordedComparison(
            detail.reconciled_at,
            detail.compared_rows,
            detail.missing,
            detail.differing,
            detail.gone,
            detail.unrepaired,
        )
        if detail.reconciled_at
        else None,
    )
