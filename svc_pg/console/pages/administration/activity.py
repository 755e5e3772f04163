"""The page Activity: sign-ins, exports, refused calls, tokens, links to the portal, and views of the team."""

from typing import Final

from svc_pg.console.pages import states
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.list_filters import chips, used, words_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.sessions.event_log import ConsoleEvent, EventFilter
from svc_pg.database.pagination import Page

WORDS: Final = words_of(EventFilter)
_IN_FORM: Final = ("event", "email", "since")
_PERIODS: Final = {"24h": "Last 24 hours", "7d": "Last 7 days", "": "Any time"}
_LONGEST: Final = 200
"""The characters of a detail."""


async def activity_page(request: PageRequest) -> Answer:
    """The events, newest first."""
    wanted = used(request, WORDS)
    page = await request.api.get(Page[ConsoleEvent], "account", "events", query=request.list_query(**wanted))
    shown = chips(wanted, WORDS, without=_IN_FORM)
    return Html(
        "activity", {"events": page, "wanted": wanted, "chips": shown, "periods": _PERIODS, "longest": _LONGEST}
    )


def sentence(event: ConsoleEvent) -> str:
    """The words of the event, with the beginning of its detail if it has one."""
    word = states.EVENTS[event.event][2]
    return f"{word}: {event.detail[:_LONGEST]}" if event.detail else word
