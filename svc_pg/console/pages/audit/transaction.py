"""The page of a transaction: all that it changed, in every audited table, and the webhooks that it sent."""

from collections.abc import Mapping

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import Facets
from svc_pg.console.built_in.audit_lookup import unknown_transaction
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes, related
from svc_pg.console.pages.differences.work import MOST_IN_A_LIST, Work
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.requests import Problem
from svc_pg.database.pagination import Page


async def transaction_page(request: PageRequest) -> Answer:
    """The entries of a transaction, the oldest first."""
    xact_id = request.params["id"]
    filters = {"transaction": xact_id}
    page = await entries_of(
        request, request.list_query(**filters, order="oldest", fields=f"{changes.LIST},beforeData,afterData")
    )
    facets = await request.api.get(Facets, "audit", "facets", query=filters)
    deliveries = await related.deliveries_of(request, page.data[:1])
    values = {
        "xact_id": xact_id,
        "page": page,
        "facets": facets,
        "tables": next(facet.values for facet in facets.facets if facet.name == "resource"),
        "actors": next(facet.values for facet in facets.facets if facet.name == "actor"),
        "deliveries": deliveries.get(xact_id, []),
        "can_be_reverted": changes.can_be_reverted(request, page.data),
        "changes": changes,
        "work": Work(most=MOST_IN_A_LIST),
    }
    return Html("transaction", values)


async def entries_of(request: PageRequest, query: Mapping[str, str]) -> Page[Entry]:
    """The entries of the one transaction that the query names. Raises Problem if there is none."""
    unknown = unknown_transaction()
    try:
        page = await request.api.get(Page[Entry], "audit", "entries", query=query)
    except Problem as problem:
        raise (unknown if problem.members.get("parameter") == "transaction" else problem) from None
    if not page.data:
        raise unknown
    return page
