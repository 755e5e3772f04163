"""The other entries that transactions wrote, and the webhooks that they sent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.built_in.webhook_transactions import CausedDeliveries
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.names import endpoint_name
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint

_MOST_ENTRIES: Final = 21
"""Of one transaction."""
_MOST_ENDPOINTS: Final = 100


@dataclass(frozen=True, slots=True)
class NamedDelivery:
    """A delivery, and the name of its endpoint; None if the endpoint was deleted."""

    delivery: Delivery
    endpoint: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """The deliveries of a transaction's messages; ``is_complete`` unless it may have more."""

    deliveries: Sequence[NamedDelivery] = ()
    is_complete: bool = True


NOBODY_TOLD: Final = Told()


async def entries_of(request: PageRequest, entries: Iterable[Entry]) -> Mapping[str, Page[Entry]]:
    """The entries around each of ``entries`` that its transaction wrote, with their values, which name records.

    The page is full only in the middle of a long transaction; its cursors tell that there are more.
    """
    found: dict[str, Page[Entry]] = {}
    for entry in entries:
        if entry.xact_id is None or entry.xact_id in found:
            continue
        # around the entry, because a transaction may have written millions
        query = {
            "transaction": entry.xact_id,
            "around": entry.id,
            "fields": changes.WITH_VALUES,
            "limit": str(_MOST_ENTRIES),
        }
        found[entry.xact_id] = await request.api.get(Page[Entry], "audit", "entries", query=query)
    return found


async def deliveries_of(request: PageRequest, entries: Iterable[Entry]) -> Mapping[str, Told]:
    """The deliveries of each transaction's messages, if this person may see deliveries."""
    if not request.has("deliveries") or not request.is_log_here:
        return {}
    xact_ids = list(dict.fromkeys(entry.xact_id for entry in entries if entry.xact_id is not None))
    if not xact_ids:
        return {}
    caused = await request.api.get(
        list[CausedDeliveries], "webhooks", "transactions", query={"ids": ",".join(xact_ids)}
    )
    ids = sorted({delivery.endpoint_id for each in caused for delivery in each.deliveries})[:_MOST_ENDPOINTS]
    names: dict[str, str] = {}
    if ids:
        query = {"ids": ",".join(ids), "limit": str(len(ids))}
        endpoints = await request.api.get(Page[Endpoint], "webhooks", "endpoints", query=query)
        names = {endpoint.id: endpoint_name(endpoint.description, endpoint.url) for endpoint in endpoints}
    return {
        each.xact_id: Told(
            [NamedDelivery(delivery, names.get(delivery.endpoint_id)) for delivery in each.deliveries], each.is_complete
        )
        for each in caused
    }
