"""The page of a link that ``svc-pg console sign-in`` printed. Opening it does nothing: programs open links, too."""

from http import HTTPStatus

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.refusals import SentBackError
from svc_pg.console.pages.sign_in.code import signed_in
from svc_pg.console.sign_in.sign_in_routes import ClaimedSession


async def form(request: PageRequest) -> Answer:
    """The button that signs in."""
    is_over = request.refusal is not None and request.refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Html("sign_in_link", {"token": "" if is_over else request.query.get("token", "")})


async def finish(request: PageRequest) -> Answer:
    """Begin the session of the link, once."""
    session_id, _, device_token = request.form.get("token", "").partition(".")
    try:
        claimed = await request.api.post(
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
        raise SentBackError(problem, request.url("sign-in", "link")) from problem
    return signed_in(request, claimed)
