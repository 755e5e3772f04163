"""The pages Event types and Event type: what can be sent, with schema and example."""

import json
from typing import Final

from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.pagination import Page
from svc_pg.webhooks.event_types import EventType

_LONGEST: Final = 64 * 1024


async def listed(visit: Visit) -> Answer:
    """All events, those of the application first."""
    types = await visit.api.get(Page[EventType], "webhooks", "event-types")
    values = {
        "types": [each for each in types if not each.name.startswith("webhook.")],
        "own_types": [each for each in types if each.name.startswith("webhook.")],
    }
    return Html("event_types", values)


async def shown(visit: Visit) -> Answer:
    """One event."""
    types = await visit.api.get(Page[EventType], "webhooks", "event-types")
    found = next((each for each in types if each.name == visit.params["name"]), None)
    if found is None:
        raise Problem(404, "unknown_event", "No event has this name.")
    return Html("event_type", {"event": found, "schema": _lines(found.schema), "example": _lines(found.example)})


def _lines(text: str | None) -> str | None:
    """JSON with a member a line, or as it is if it is very long."""
    if text is None or len(text) > _LONGEST:
        return text
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
