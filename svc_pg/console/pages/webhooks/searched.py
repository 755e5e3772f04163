"""The note above a list that was asked for a value of payloads: the messages that cannot be found by it yet."""

from collections.abc import Mapping

from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page
from svc_pg.webhooks.payload_search import SearchKey, unsearched


async def note_of(request: PageRequest, filters: Mapping[str, str]) -> str:
    """A sentence; empty if all messages are found, or none are asked for by their payloads."""
    if "payload" not in filters:
        return ""
    keys = await request.api.get(Page[SearchKey], "webhooks", "search-keys")
    return unsearched(filters["payload"], keys)
