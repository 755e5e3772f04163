"""The page of a link that ``svc-pg console sign-in`` printed. Opening it does nothing: programs open links, too."""

from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.sign_in.code import signed_in
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.routes import ClaimedSession


async def form(visit: Visit) -> Answer:
    """The button that signs in."""
    return Html("sign_in_link", {"token": visit.query.get("token", ""), "problem": None})


async def finish(visit: Visit) -> Answer:
    """Begin the session of the link, once."""
    session_id, _, device_token = visit.form.get("token", "").partition(".")
    try:
        claimed = await visit.api.post(
            ClaimedSession,
            "console",
            "session",
            "claim",
            body={"sessionId": session_id},
            headers={"authorization": f"Bearer {device_token}"},
        )
    except Problem as problem:
        if problem.status >= 500:
            raise
        return Html("sign_in_link", {"token": "", "problem": problem}, problem.status)
    return signed_in(visit, claimed)
