"""The page of a transaction: all that it changed, in every audited table, and the webhooks that it sent."""

from collections.abc import Mapping

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import Facets
from svc_pg.console.built_in.audit_lookup import unknown_transaction
from svc_pg.console.built_in.transaction_pages import LoggedTransaction
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes, record_names, related
from svc_pg.console.pages.audit.sentences import Sentence, sentence
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
        "said": await _sentence(request, xact_id) if page.prev_cursor is None else None,
        "deliveries": deliveries.get(xact_id, []),
        "can_be_reverted": changes.can_be_reverted(request, page.data),
        "changes": changes,
        "names": record_names,
        "work": Work(most=MOST_IN_A_LIST),
    }
    return Html("transaction", values)


async def _sentence(request: PageRequest, xact_id: str) -> Sentence | None:
    """The whole transaction in a sentence, as the log has it; None if the log has no transactions."""
    if not request.has_past:
        return None
    query = {"transaction": xact_id, "limit": "1"}
    found = await request.api.get(Page[LoggedTransaction], "audit", "transactions", query=query)
    return next((sentence(each, request.titles) for each in found), None)


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
