"""The pages that sign somebody in and out: an address, the mailed code, or on one's own machine one click."""

from typing import Final, cast
from urllib.parse import urlsplit

from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.routes import ApprovedSession, ClaimedSession, PendingSignIn

_CODE_PROBLEMS: Final = frozenset({"invalid_code", "malformed_code", "rate_limited"})


async def form(visit: Visit) -> Answer:
    """The form for an address."""
    return Html("sign_in", {"next": _next(visit, visit.query.get("next")), "email": "", "problem": None})


async def begin(visit: Visit) -> Answer:
    """Have a code mailed, or sign in at once if the settings approve everybody on this machine."""
    email, wanted = visit.form.get("email", ""), _next(visit, visit.form.get("next"))
    try:
        begun = await visit.api.post("console", "session", "init", body={"email": email} if email else {})
    except Problem as problem:
        return Html("sign_in", {"next": wanted, "email": email, "problem": problem}, problem.status)
    if isinstance(begun, ApprovedSession):
        return _signed_in(visit, begun, wanted)
    pending = cast(PendingSignIn, begun)
    binding = f"{pending.session_id}.{pending.device_token}"
    cookie = visit.cookies.write(cookies.SIGN_IN, binding, seconds=pending.expires_in)
    return SeeOther(visit.url("sign-in", "code", query={"next": wanted}), (cookie,))


async def code_form(visit: Visit) -> Answer:
    """The form for the code."""
    if visit.cookies.read(visit.request, cookies.SIGN_IN) is None:
        return SeeOther(visit.url("sign-in", query={"next": visit.query.get("next", "")}))
    return Html("sign_in_code", {"next": _next(visit, visit.query.get("next")), "problem": None})


async def finish(visit: Visit) -> Answer:
    """Try the code, and begin the session that it opens."""
    wanted = _next(visit, visit.form.get("next"))
    session_id, _, device_token = (visit.cookies.read(visit.request, cookies.SIGN_IN) or "").partition(".")
    device = {"authorization": f"Bearer {device_token}"}
    body = {"sessionId": session_id}
    try:
        code = {**body, "code": visit.form.get("code", "")}
        await visit.api.call("POST", "console", "session", "verify", body=code, headers=device)
        claimed = await visit.api.call("POST", "console", "session", "claim", body=body, headers=device)
    except Problem as problem:
        if problem.code in _CODE_PROBLEMS:
            return Html("sign_in_code", {"next": wanted, "problem": problem}, problem.status)
        return Html("sign_in", {"next": wanted, "email": "", "problem": problem}, problem.status)
    return _signed_in(visit, cast(ClaimedSession, claimed), wanted)


async def sign_out(visit: Visit) -> Answer:
    """End the session."""
    try:
        await visit.api.call("DELETE", "account", "session")
    except Problem as problem:
        if problem.code != "session_not_stored":  # an auto-approved one: to forget its token is to end it
            raise
    return SeeOther(visit.url("sign-in"), (visit.cookies.remove(cookies.SESSION),))


def _signed_in(visit: Visit, granted: ApprovedSession | ClaimedSession, wanted: str) -> SeeOther:
    session = visit.cookies.write(cookies.SESSION, granted.session_token, seconds=granted.expires_in)
    return SeeOther(wanted or visit.url("overview"), (session, visit.cookies.remove(cookies.SIGN_IN)))


def _next(visit: Visit, asked: str | None) -> str:
    """The page to look at after signing in; nothing if it is not one of ours."""
    if not asked or not asked.startswith(visit.base_path + "/") or "\\" in asked or urlsplit(asked).netloc:
        return ""
    return asked if asked.isascii() and asked.isprintable() else ""
