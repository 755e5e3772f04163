"""The page of a transaction: all that it changed, in every audited table, and the webhooks that it sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from svc_pg.audit.log.entry import Entry, Operation
from svc_pg.audit.read.facets import Facets
from svc_pg.console.built_in.audit_lookup import unknown_transaction
from svc_pg.console.built_in.transaction_pages import LoggedTransaction
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes, record_names, related, sentences
from svc_pg.console.pages.audit.sentences import Sentence, sentence
from svc_pg.console.pages.differences.work import MOST_IN_A_LIST, Work
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page

_MOST_AROUND: Final = 20
_TICK: Final = timedelta(microseconds=1)
_CHANGES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "SNAPSHOT", "GONE"})


@dataclass(frozen=True, slots=True)
class Around:
    """A record that the transaction changed, and the addresses of its states just before and just after."""

    table: str
    record_id: str
    name: str | None
    operations: Sequence[Operation]
    before: str
    after: str
    both: str
    with_rows: str


async def transaction_page(request: PageRequest) -> Answer:
    """The entries of a transaction, the oldest first."""
    xact_id = request.params["id"]
    filters = {"transaction": xact_id}
    page = await entries_of(request, request.list_query(**filters, order="oldest", fields=changes.WITH_VALUES))
    facets = await request.api.get(Facets, "audit", "facets", query={**filters, "facet": ["resource", "actor"]})
    caused = await related.deliveries_of(request, page.data[:1])
    values = {
        "xact_id": xact_id,
        "page": page,
        "facets": facets,
        "tables": next(facet.values for facet in facets.facets if facet.name == "resource"),
        "actors": next(facet.values for facet in facets.facets if facet.name == "actor"),
        "said": await _sentence(request, xact_id) if page.prev_cursor is None else None,
        "caused": caused.get(xact_id, related.NOBODY_TOLD),
        "can_be_reverted": changes.can_be_reverted(request, page.data),
        "changes": changes,
        "names": record_names,
        "sentences": sentences,
        "around": _around(request, page.data),
        "work": Work(most=MOST_IN_A_LIST),
    }
    return Html("transaction", values)


def _around(request: PageRequest, entries: Sequence[Entry]) -> list[Around]:
    """Each record that the entries changed, in their order, just before and just after."""
    if not request.has_past:
        return []
    times: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.record_id is not None and entry.operation in _CHANGES and not entry.table_name.startswith("svc."):
            times.setdefault((entry.table_name, entry.record_id), []).append(entry)
    found = []
    for (table, record), own in [*times.items()][:_MOST_AROUND]:
        before, after = min(each.timestamp for each in own) - _TICK, max(each.timestamp for each in own)
        to = request.to
        found.append(
            Around(
                table,
                record,
                record_names.name_of(own[-1], request.titles),
                [each.operation for each in own],
                to.record_at(table, record, before),
                to.record_at(table, record, after),
                to.record_at(table, record, before, after),
                to.related(table, record, before, after),
            )
        )
    return found


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
