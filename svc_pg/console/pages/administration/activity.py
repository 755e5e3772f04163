"""The page Done in this console: sign-ins, exports, refused calls, and changes of tokens."""

from collections.abc import Mapping
from typing import Final

from svc_pg.console.event_log import ConsoleEvent, EventName
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.visit import Visit
from svc_pg.pagination import Page

WORDS: Final[Mapping[EventName, tuple[str, str, str]]] = {
    "link_requested": ("off", "key", "Asked for a code"),
    "mail_failed": ("bad", "bad", "Mail with a code failed"),
    "code_rejected": ("wait", "warn", "Typed a wrong code"),
    "link_locked": ("bad", "lock", "Locked after wrong codes"),
    "code_accepted": ("off", "check", "Typed the right code"),
    "signed_in": ("ok", "door", "Signed in"),
    "session_revoked": ("off", "ban", "Session ended"),
    "log_exported": ("info", "down", "Exported the audit log"),
    "call_refused": ("wait", "lock", "Was refused"),
    "link_made": ("info", "key", "Code made in the shell"),
    "token_added": ("info", "plus", "Token made"),
    "token_revoked": ("off", "ban", "Token revoked"),
}
"""The tone, the icon and the words of each kind of event."""

_PERIODS: Final = {"24h": "Last 24 hours", "7d": "Last 7 days", "": "Any time"}


async def listed(visit: Visit) -> Answer:
    """The events, newest first."""
    wanted = {name: visit.query[name] for name in ("event", "email", "since") if visit.query.get(name)}
    page = await visit.api.get(Page[ConsoleEvent], "account", "events", query=visit.list_query(**wanted))
    return Html("activity", {"events": page, "words": WORDS, "wanted": wanted, "periods": _PERIODS})


def sentence(event: ConsoleEvent) -> str:
    """The words of the event, with its detail if it has one."""
    word = WORDS[event.event][2]
    return f"{word}: {event.detail}" if event.detail else word
