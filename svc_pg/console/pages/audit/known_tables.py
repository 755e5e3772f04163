"""The tables that a search may name: those with capture, or else those of the newest entries."""

from typing import Final

from svc_pg.audit.read.facets import Facets
from svc_pg.audit.read.tables import CapturedTable
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page

_MOST: Final = 500


async def known_tables(request: PageRequest) -> list[str]:
    """Their names. A session of one tenant, and a user who may not look at triggers, know those of entries alone."""
    if request.person.tenant is None:
        try:
            page = await request.api.get(Page[CapturedTable], "audit", "tables", query={"limit": str(_MOST)})
            return [each.name for each in page]
        except Problem as problem:
            if problem.code not in ("not_supported", "access_denied"):
                raise
    counts = await request.api.get(Facets, "audit", "facets")
    tables = next((facet.values for facet in counts.facets if facet.name == "resource"), [])
    return [each.value for each in tables if each.value is not None]
