"""The page Sessions: one's own, and for administrators everybody's; a page asks before it ends one."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from svc_pg.console.built_in.webhook_portal import WaitingLinks
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.portal_links import StoredLink, WaitingLink
from svc_pg.console.sign_in.sessions import StoredSession
from svc_pg.database.pagination import Page

_OWN: Final = "own-sessions"
_ALL: Final = "sessions"


async def listed(visit: Visit) -> Answer:
    """The sessions in one state, newest first; above them the one that somebody has just ended."""
    state = visit.choice("state", ("live", "ended"), "live")
    whose = _whose(visit, visit.choice("whose", ("own", "all"), "all"))
    page = await visit.api.get(Page[StoredSession], "account", whose, query=visit.list_query(state=state))
    values = {
        "sessions": page,
        "state": state,
        "is_own": whose == _OWN,
        "links": await _links(visit, whose, state),
        "ended": await _found(visit, whose, visit.query["ended"]) if visit.query.get("ended") else None,
    }
    return Html("sessions", values)


async def confirm(visit: Visit) -> Answer:
    """The session or link that the path names, and the button that ends it."""
    whose = _whose(visit, visit.query.get("whose"))
    found = await _found(visit, whose, visit.params["id"])
    return Html("session_end", {"found": found, "id": visit.params["id"], "whose": "own" if whose == _OWN else ""})


async def revoke(visit: Visit) -> Answer:
    """End the session or link that the path names, and tell which that was."""
    whose = _whose(visit, visit.form.get("whose"))
    await visit.api.call("DELETE", "account", whose, visit.params["id"])
    own = {"whose": "own"} if whose == _OWN and visit.may("admin") else {}
    is_this = visit.params["id"] == visit.person.session_id
    return SeeOther(visit.url("sessions", query=own if is_this else own | {"ended": visit.params["id"]}))


async def _found(visit: Visit, whose: str, session_id: str) -> StoredSession | StoredLink:
    """A session, or a link that is none yet. Raises Problem 404."""
    try:
        return await visit.api.get(StoredSession, "account", whose, session_id)
    except Problem as problem:
        if problem.status != HTTPStatus.NOT_FOUND or whose == _OWN:
            raise
    return await visit.api.get(StoredLink, "webhooks", "portal-sessions", session_id)


async def _links(visit: Visit, whose: str, state: str) -> Sequence[WaitingLink]:
    """The links to the portal that may become sessions."""
    if whose == _OWN or state != "live":
        return []
    return (await visit.api.get(WaitingLinks, "webhooks", "portal-sessions")).data


def _whose(visit: Visit, asked: str | None) -> str:
    return _ALL if visit.may("admin") and asked != "own" else _OWN
