"""The page Coverage: each table of the database, on record or not and why not, and its entries by day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.read.coverage_filters import CoverageFilter
from svc_pg.audit.read.covered_tables import CoverageCounts, CoveredTable
from svc_pg.config.audited_table import Redaction
from svc_pg.console.pages import charts
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.integrity import facts_of, system_status
from svc_pg.console.pages.list_filters import chips, used, words_of
from svc_pg.console.pages.page_request import ROWS, PageRequest
from svc_pg.database.pagination import Page
from svc_pg.formats.plurals import counted

WORDS: Final = words_of(CoverageFilter)
_FIELDS: Final = ("state", "schema", "text")
_MOST_COLUMNS: Final = 6
_DISGUISES: Final[Mapping[Redaction, str]] = {
    "remove": "removed",
    "mask": "masked",
    "hash": "hashed",
    "last4": "last 4",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A table with its entries by day: steps of heat, their sum in words, and that of today."""

    table: CoveredTable
    heat: Sequence[int]
    told: str
    today: str
    columns: Sequence[tuple[str, str]]
    more_columns: int
    drift: Sequence[str]


async def coverage_page(request: PageRequest) -> Answer:
    """The page. Another database than PostgreSQL does not tell it."""
    if not request.has_past:
        return Html("coverage", {"page": None})
    wanted = used(request, WORDS)
    page = await request.api.get(
        Page[CoveredTable], "audit", "coverage", query={**request.list_query(**wanted), "limit": str(ROWS)}
    )
    counts = await request.api.get(CoverageCounts, "audit", "coverage", "counts")
    status = await system_status(request)
    differing: dict[str, list[str]] = {}
    for each in status.drift.differences if status else []:
        if each.audited_table is not None:
            differing.setdefault(each.audited_table, []).append(f"{each.kind} {each.state}")
    values = {
        "page": page,
        "rows": [_row(table, differing.get(table.name, [])) for table in page],
        "counts": counts,
        "facts": facts_of(request, status, counts),
        "wanted": wanted,
        "filters": {name: value for name, value in wanted.items() if name != "state"},
        "chips": chips(wanted, WORDS, without=_FIELDS),
        "is_estimate": any(day.is_estimate for table in page for day in table.days),
    }
    return Html("coverage", values)


def _row(table: CoveredTable, drift: Sequence[str]) -> Row:
    entries = [day.entries for day in table.days]
    about = "about " if any(day.is_estimate for day in table.days) else ""
    told = f"{about}{counted(sum(entries), 'entry')} in {len(entries)} days, {entries[-1]:,} today" if entries else ""
    columns = [
        *((column, _DISGUISES[kind]) for column, kind in table.redact.items()),
        *((column, "ignored") for column in table.ignore),
    ]
    return Row(
        table,
        charts.heat(entries),
        told,
        f"{entries[-1]:,}" if entries else "",
        columns[:_MOST_COLUMNS],
        max(0, len(columns) - _MOST_COLUMNS),
        drift[:3],
    )
