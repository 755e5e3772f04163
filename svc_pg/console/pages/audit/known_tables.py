"""The names that a search may say: tables with capture, and tables and other values of the newest entries."""

from typing import Final

from svc_pg.audit.read.facets import Facets
from svc_pg.audit.read.tables import CapturedTable
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page

FACETS: Final = ("resource", "actor", "tenant", "label", "compliance")
"""Those with names: the parts of a page that look for names count them together, once."""
_MOST: Final = 500
_UNTOLD: Final = ("not_supported", "access_denied", "not_for_tenants")
"""The refusals of a log elsewhere, whose user may not look at triggers, and of a session of one tenant."""


async def captured_tables(request: PageRequest) -> list[str]:
    """The first 500 audited tables; none if the person is not told them."""
    try:
        page = await request.api.get(Page[CapturedTable], "audit", "tables", query={"limit": str(_MOST)})
    except Problem as problem:
        if problem.code not in _UNTOLD:
            raise
        return []
    return [each.name for each in page]


async def known_tables(request: PageRequest) -> list[str]:
    """The audited tables; those of the newest entries if the person is told of none."""
    if captured := await captured_tables(request):
        return captured
    return (await counted_names(request))["resource"]


async def counted_names(request: PageRequest) -> dict[str, list[str]]:
    """The values of each facet that has names, those that the newest entries have most."""
    return names_of(await request.api.get(Facets, "audit", "facets", query={"facet": FACETS}))


def names_of(counts: Facets) -> dict[str, list[str]]:
    """The values of each facet that has names."""
    found = {facet.name: [each.value for each in facet.values if each.value is not None] for facet in counts.facets}
    return {name: found.get(name, []) for name in FACETS}
