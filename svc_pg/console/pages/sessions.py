"""The page Sessions: who is signed in, and ending a session."""

from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.sign_in.sessions import StoredSession
from svc_pg.pagination import Page


async def listed(visit: Visit) -> Answer:
    """The sessions in one state, newest first."""
    state = "ended" if visit.query.get("state") == "ended" else "live"
    page = await visit.api.get(Page[StoredSession], "account", "sessions", query=visit.list_query(state=state))
    return Html("sessions", {"sessions": page, "state": state})


async def revoke(visit: Visit) -> Answer:
    """End the session that the path names."""
    await visit.api.call("DELETE", "account", "sessions", visit.params["id"])
    return SeeOther(visit.url("sessions"))
