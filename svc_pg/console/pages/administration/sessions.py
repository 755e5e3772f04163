"""The page Sessions: one's own, and for administrators everybody's; a button ends one."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.built_in.webhook_portal import WaitingLinks
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.sign_in.portal_links import WaitingLink
from svc_pg.console.sign_in.sessions import StoredSession
from svc_pg.pagination import Page

_OWN: Final = "own-sessions"
_ALL: Final = "sessions"


async def listed(visit: Visit) -> Answer:
    """The sessions in one state, newest first."""
    state = visit.choice("state", ("live", "ended"), "live")
    whose = _whose(visit, visit.choice("whose", ("own", "all"), "all"))
    page = await visit.api.get(Page[StoredSession], "account", whose, query=visit.list_query(state=state))
    values = {"sessions": page, "state": state, "is_own": whose == _OWN, "links": await _links(visit, whose, state)}
    return Html("sessions", values)


async def revoke(visit: Visit) -> Answer:
    """End the session that the path names."""
    whose = _whose(visit, visit.form.get("whose"))
    await visit.api.call("DELETE", "account", whose, visit.params["id"])
    return SeeOther(visit.url("sessions", query={"whose": "own"} if whose == _OWN and visit.may("admin") else {}))


async def _links(visit: Visit, whose: str, state: str) -> Sequence[WaitingLink]:
    """The links to the portal that may become sessions."""
    if whose == _OWN or state != "live":
        return []
    return (await visit.api.get(WaitingLinks, "webhooks", "portal-sessions")).data


def _whose(visit: Visit, asked: str | None) -> str:
    return _ALL if visit.may("admin") and asked != "own" else _OWN
