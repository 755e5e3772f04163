"""The page Sessions: one's own, and for administrators everybody's; a page asks before it ends one."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from svc_pg.console.built_in.webhook_portal import PendingPortalLinks
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.sign_in.portal_links import PendingPortalLink, PortalLink
from svc_pg.console.sign_in.sessions import SessionRecord
from svc_pg.database.pagination import Page

_OWN: Final = "own-sessions"
_ALL: Final = "sessions"


async def sessions_page(request: PageRequest) -> Answer:
    """The sessions in one state, newest first; above them the one that was just ended."""
    state = request.choice("state", ("live", "ended"), "live")
    whose = _whose(request, request.choice("whose", ("own", "all"), "all"))
    page = await request.api.get(Page[SessionRecord], "account", whose, query=request.list_query(state=state))
    values = {
        "sessions": page,
        "state": state,
        "is_own": whose == _OWN,
        "links": await _links(request, whose, state),
        "ended": await _found(request, whose, request.query["ended"]) if request.query.get("ended") else None,
    }
    return Html("sessions", values)


async def confirm(request: PageRequest) -> Answer:
    """The session or link that the path names, and the button that ends it."""
    whose = _whose(request, request.query.get("whose"))
    found = await _found(request, whose, request.params["id"])
    return Html("session_end", {"found": found, "id": request.params["id"], "whose": "own" if whose == _OWN else ""})


async def revoke(request: PageRequest) -> Answer:
    """End the session or link that the path names, and tell which that was."""
    whose = _whose(request, request.form.get("whose"))
    await request.api.call("DELETE", "account", whose, request.params["id"])
    own = {"whose": "own"} if whose == _OWN and request.may("admin") else {}
    is_this = request.params["id"] == request.person.session_id
    return SeeOther(request.url("sessions", query=own if is_this else own | {"ended": request.params["id"]}))


async def _found(request: PageRequest, whose: str, session_id: str) -> SessionRecord | PortalLink:
    """A session, or a link that is none yet. Raises Problem 404."""
    try:
        return await request.api.get(SessionRecord, "account", whose, session_id)
    except Problem as problem:
        if problem.status != HTTPStatus.NOT_FOUND or whose == _OWN or not request.has_webhooks:
            raise
    return await request.api.get(PortalLink, "webhooks", "portal-sessions", session_id)


async def _links(request: PageRequest, whose: str, state: str) -> Sequence[PendingPortalLink]:
    """The links to the portal that may become sessions."""
    if whose == _OWN or state != "live" or not request.has_webhooks:
        return []
    return (await request.api.get(PendingPortalLinks, "webhooks", "portal-sessions")).data


def _whose(request: PageRequest, asked: str | None) -> str:
    return _ALL if request.may("admin") and asked != "own" else _OWN
