"""The page of a record: its life as a timeline, who changed it, and what each change came with."""

from collections.abc import Mapping, Sequence
from typing import Final

from svc_pg.audit.keep.holds import Hold
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import Facets
from svc_pg.console.pages import charts
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes, related
from svc_pg.console.pages.visit import PAGES, Visit
from svc_pg.database.pagination import Page

_CHANGES: Final = 12
"""The entries on one page: each shows its fields, its transaction and its webhooks."""
_HOLDS: Final = "5"


async def shown(visit: Visit) -> Answer:
    """The record as the log knows it."""
    table, record_id = visit.params["table"], visit.params["id"]
    position = {name: visit.query[name] for name in PAGES if visit.query.get(name)}
    query = {"limit": str(_CHANGES), **position}
    page = await visit.api.get(Page[Entry], "audit", "records", table, record_id, query=query)
    filters = {"resource": table, "record": record_id}
    facets = await visit.api.get(Facets, "audit", "facets", query=filters)
    actors = next(facet.values for facet in facets.facets if facet.name == "actor")
    most = max((actor.entries for actor in actors), default=0)
    values = {
        "table": table,
        "record_id": record_id,
        "page": page,
        "newest": page.data[0] if page.data and not position else None,
        "facets": facets,
        "actors": [(actor, charts.share(actor.entries, most)) for actor in actors],
        "entries_of": await related.entries_of(visit, page),
        "deliveries_of": await related.deliveries_of(visit, page),
        "changes": changes,
        "filters": filters,
        "holds": await _holds(visit, filters) if page.data else [],
        "export": visit.url("audit", "export", query={**filters, "format": "ndjson"}),
    }
    return Html("record", values, 200 if page.data or position else 404)


async def _holds(visit: Visit, filters: Mapping[str, str]) -> Sequence[Hold]:
    """The holds for which the record is neither purged nor erased."""
    if not visit.sees_whole_log:
        return []
    return (await visit.api.get(Page[Hold], "audit", "holds", query={**filters, "limit": _HOLDS})).data
