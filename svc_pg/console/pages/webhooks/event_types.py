"""The pages Event types and Event type: the events with schema and example."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page
from svc_pg.webhooks.events.event_types import EventType
from svc_pg.webhooks.events.own_events import OWN_EVENTS
from svc_pg.webhooks.payload_search import SearchKey

_LONGEST: Final = 64 * 1024
_OF_AUDIT_TRAIL: Final = "audit."
_OWN: Final = frozenset(event.name for event in OWN_EVENTS)


async def event_types_page(request: PageRequest) -> Answer:
    """All events, those of the application first."""
    types = await request.api.get(Page[EventType], "webhooks", "event-types")
    return Html("event_types", divided(request, types))


def divided(request: PageRequest, types: Iterable[EventType]) -> Mapping[str, Sequence[EventType]]:
    """The types of the application, and those of svc-pg itself, which its endpoints can have too.

    Events of the audit trail are for those alone who are shown it.
    """
    every = [each for each in types if is_shown(request, each.name)]
    own = [each for each in every if each.name in _OWN]
    return {"types": [each for each in every if each not in own], "own_types": own}


def is_shown(request: PageRequest, event: str) -> bool:
    """True if the person is shown this event."""
    return event not in _OWN or request.has("audit") or not event.startswith(_OF_AUDIT_TRAIL)


async def event_type_page(request: PageRequest) -> Answer:
    """One event."""
    types = await request.api.get(Page[EventType], "webhooks", "event-types")
    found = next((each for each in types if each.name == request.params["name"]), None)
    if found is None:
        raise Problem(404, "unknown_event", "No event has this name.")
    keys = await request.api.get(Page[SearchKey], "webhooks", "search-keys")
    values = {
        "event": found,
        "schema": _lines(found.schema),
        "example": _lines(found.example),
        "search_keys": [each for each in keys if each.event_name == found.name],
    }
    return Html("event_type", values)


def _lines(text: str | None) -> str | None:
    """JSON with a member a line, or as it is if it is very long."""
    if text is None or len(text) > _LONGEST:
        return text
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
