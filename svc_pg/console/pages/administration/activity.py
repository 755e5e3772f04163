"""The page Activity: sign-ins, exports, refused calls, changes of tokens, and links to the portal."""

from typing import Final

from svc_pg.console.event_log import ConsoleEvent
from svc_pg.console.pages import states
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.visit import Visit
from svc_pg.database.pagination import Page

FILTERS: Final = ("event", "email", "since")
_PERIODS: Final = {"24h": "Last 24 hours", "7d": "Last 7 days", "": "Any time"}


async def listed(visit: Visit) -> Answer:
    """The events, newest first."""
    wanted = {name: visit.query[name] for name in FILTERS if visit.query.get(name)}
    page = await visit.api.get(Page[ConsoleEvent], "account", "events", query=visit.list_query(**wanted))
    return Html("activity", {"events": page, "wanted": wanted, "periods": _PERIODS})


def sentence(event: ConsoleEvent) -> str:
    """The words of the event, with its detail if it has one."""
    word = states.EVENTS[event.event][2]
    return f"{word}: {event.detail}" if event.detail else word
