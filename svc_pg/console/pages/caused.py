"""What belongs to transactions: the other entries that they wrote, and the webhooks that they sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from svc_pg.audit.entry import Entry
from svc_pg.console.pages import changes
from svc_pg.console.pages.visit import Visit
from svc_pg.pagination import Page
from svc_pg.webhooks.delivery_rows import Delivery

MOST_ENTRIES: Final = 20
"""Of one transaction."""

_MOST_DELIVERIES: Final = 20
DELIVERY_STATES: Final = {
    "delivered": ("ok", "ok", "Delivered"),
    "pending": ("wait", "wait", "Waiting"),
    "failed": ("bad", "bad", "Failed"),
    "canceled": ("off", "ban", "Canceled"),
}


async def entries_of(visit: Visit, entries: Iterable[Entry]) -> Mapping[str, Sequence[Entry]]:
    """The entries around each of ``entries`` that its transaction wrote, without their snapshots."""
    found: dict[str, Sequence[Entry]] = {}
    for entry in entries:
        if entry.xact_id in found:
            continue
        # around the entry, because a transaction may have written millions
        query = {
            "transaction": entry.xact_id,
            "around": entry.id,
            "fields": changes.LIST,
            "limit": str(MOST_ENTRIES + 1),
        }
        found[entry.xact_id] = (await visit.api.get(Page[Entry], "audit", "entries", query=query)).data
    return found


async def deliveries_of(visit: Visit, entries: Iterable[Entry]) -> Mapping[str, Sequence[Delivery]]:
    """The deliveries of what each of these transactions sent, if this person may see deliveries."""
    found: dict[str, Sequence[Delivery]] = {}
    if not visit.has("deliveries"):
        return found
    for xact_id in dict.fromkeys(entry.xact_id for entry in entries):
        query = {"transaction": xact_id, "limit": str(_MOST_DELIVERIES)}
        found[xact_id] = (await visit.api.get(Page[Delivery], "webhooks", "deliveries", query=query)).data
    return found
