"""The page of a link that ``svc-pg console sign-in`` printed. Opening it does nothing: programs open links, too."""

from http import HTTPStatus

from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.refusals import SentBackError
from svc_pg.console.pages.sign_in.code import signed_in
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.routes import ClaimedSession


async def form(visit: Visit) -> Answer:
    """The button that signs in."""
    is_over = visit.refusal is not None and visit.refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Html("sign_in_link", {"token": "" if is_over else visit.query.get("token", "")})


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
        if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        raise SentBackError(problem, visit.url("sign-in", "link")) from problem
    return signed_in(visit, claimed)
