"""The page of a record: its changes as a timeline, its actors, and the context of each change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from svc_pg.audit.keep.holds import Hold
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import Facets
from svc_pg.audit.read.read_list import RecordRead
from svc_pg.console.pages import charts
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes, record_names, related
from svc_pg.console.pages.differences.work import MOST_IN_A_LIST, Work
from svc_pg.console.pages.integrity import proof_of, silences_of
from svc_pg.console.pages.page_request import PAGES, PageRequest
from svc_pg.database.pagination import Page
from svc_pg.database.table_names import TableName

_CHANGES: Final = 12
"""The entries on one page: each shows its fields, its transaction and its webhooks."""
_HOLDS: Final = "5"
_READS: Final = {"limit": "5"}


async def record_page(request: PageRequest) -> Answer:
    """The record as the log knows it."""
    table, record_id = request.params["table"], request.params["id"]
    position = {name: request.query[name] for name in PAGES if request.query.get(name)}
    query = {"limit": str(_CHANGES), **position}
    page = await request.api.get(Page[Entry], "audit", "records", table, record_id, query=query)
    filters = {"resource": table, "record": record_id}
    facets = await request.api.get(Facets, "audit", "facets", query={**filters, "facet": "actor"})
    actors = next(facet.values for facet in facets.facets if facet.name == "actor")
    most = max((actor.entries for actor in actors), default=0)
    holds = await _holds(request, filters) if page.data else []
    values = {
        "table": table,
        "record_id": record_id,
        "page": page,
        "called": record_names.name_of(page.data[0], request.titles) if page.data else None,
        "newest": page.data[0] if page.data and not position else None,
        "proof": await proof_of(request, page.data[0].id) if page.data and not position else None,
        "facets": facets,
        "actors": [(actor, charts.share(actor.entries, most)) for actor in actors],
        "entries_of": await related.entries_of(request, page),
        "deliveries_of": await related.deliveries_of(request, page),
        "changes": changes,
        "names": record_names,
        "work": Work(most=MOST_IN_A_LIST),
        "filters": filters,
        "silences": await silences_of(request, table),
        "reads": await _reads(request, table, record_id) if page.data else None,
        "holds": holds,
        "held_names": await record_names.names_of_records(request, _others_held(holds, table, record_id)),
        "export": request.url("audit", "export", query={**filters, "format": "ndjson"}),
    }
    return Html("record", values, 200 if page.data or position else 404)


async def _reads(request: PageRequest, table: str, record_id: str) -> Page[RecordRead] | None:
    """The newest reads of the record; None if they are not recorded."""
    if not await request.has_reads(str(TableName.parse(table))):
        return None
    return await request.api.get(Page[RecordRead], "audit", "records", table, record_id, "reads", query=_READS)


def _others_held(holds: Iterable[Hold], table: str, record_id: str) -> Iterator[tuple[str, str]]:
    """The other records whose holds keep this one."""
    for hold in holds:
        if hold.record_id is not None and (hold.table_name, hold.record_id) != (table, record_id):
            yield hold.table_name, hold.record_id


async def _holds(request: PageRequest, filters: Mapping[str, str]) -> Sequence[Hold]:
    """The holds for which the record is neither purged nor erased."""
    if not request.sees_whole_log:
        return []
    return (await request.api.get(Page[Hold], "audit", "holds", query={**filters, "limit": _HOLDS})).data
