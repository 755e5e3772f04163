"""The page Audit log: the filtered entries, facets and an export."""

from collections.abc import AsyncIterator
from typing import Final, cast

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import MAX_ENTRIES, Facets
from svc_pg.console.pages.answers import Answer, File, Html
from svc_pg.console.pages.audit import changes, selection
from svc_pg.console.pages.audit.selection import FROM_START
from svc_pg.console.pages.page_request import PAGES, ROWS, PageRequest
from svc_pg.console.pages.problems import headers_of
from svc_pg.console.requests import Problem
from svc_pg.database.pagination import Page

POSITIONS: Final = (*PAGES, "around")
_IN_FORM: Final = ("text", "resource", "operation", "minSeverity", "since")
_PERIODS: Final = {"1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days"}
_MEDIA_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
}


async def log_page(request: PageRequest) -> Answer:
    """A page of entries; an invalid filter stays in the form, with its problem."""
    filters = selection.used(request)
    position = {name: request.query[name] for name in POSITIONS if request.query.get(name)}
    problem: Problem | None = None
    page: Page[Entry] = Page([], None)
    facets: Facets | None = None
    try:
        query = {"limit": str(ROWS), "fields": changes.LIST, **position, **filters}
        page = await request.api.get(Page[Entry], "audit", "entries", query=query)
        facets = await request.api.get(Facets, "audit", "facets", query=selection.without_search(filters))
    except Problem as error:
        if error.code not in (
            "invalid_parameter",
            "invalid_value",
            "unknown_entry",
            "not_supported",
            "database_timeout",
        ):
            raise
        problem = error
    values = {
        "page": page,
        "facets": facets,
        "most_counted": MAX_ENTRIES,
        "choices": [] if facets is None else selection.choices(request, facets),
        "chips": selection.chips(request),
        "filters": filters,
        "is_search": selection.is_search(filters),
        "most_searched": selection.most_searched(filters),
        "problem": problem,
        "periods": _PERIODS,
        "changes": changes,
        "cleared": request.to.entries(),
        "around": position.get("around"),
        "other": {name: given for name, given in filters.items() if name not in _IN_FORM},
        "newest": request.same_page(**FROM_START),
        "follow": None if selection.unfollowed(filters) else request.url("tail", query=filters),
        "csv": request.url("audit", "export", query={**filters, "format": "csv"}),
        "ndjson": request.url("audit", "export", query={**filters, "format": "ndjson"}),
    }
    if problem is None:
        return Html("audit", values)
    return Html("audit", values, problem.status, headers_of(problem))


async def export(request: PageRequest) -> Answer:
    """The entries that the filters select, as a file."""
    filters = selection.used(request)
    format_ = request.query.get("format", "ndjson")
    content = await request.api.call("GET", "audit", "export", query={**filters, "format": format_})
    headers = {
        "Content-Type": _MEDIA_TYPES[format_],
        "Content-Disposition": f'attachment; filename="audit-log.{format_}"',
    }
    return File(cast(AsyncIterator[bytes], content), headers)
