"""The pages that sign somebody in and out: an address, the mailed code, or on one's own machine one click."""

from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from svc_pg.console.discovery import Capabilities
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.problems import headers_of
from svc_pg.console.pages.sign_in import pending
from svc_pg.console.pages.sign_in.pending import Pending
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.devices import KNOWN_FOR
from svc_pg.console.sign_in.routes import ApprovedSession, ClaimedSession, PendingSignIn

BETWEEN_MAILS: Final = timedelta(seconds=30)
"""The time between two codes to one address, as ``svc.console_init`` has it."""

_KNOWN_SECONDS: Final = int(KNOWN_FOR.total_seconds())
_TEXTS: Final = {
    "expired": "The time for that code is over. Ask for another one.",
    "invalid_code": "That code was wrong.",
    "invalid_email": "Write one address, such as ann@company.example.",
    "locked": "There were too many wrong codes. Ask for another one.",
    "unknown_session": "The console does not know this sign-in any more. Ask for another code.",
}
_NO_COOKIE: Final = (
    "No sign-in is under way in this browser. If you have just asked for a code, the browser did not keep the "
    "console's cookie: allow cookies, and use https."
)


async def form(visit: Visit) -> Answer:
    """The form for an address, or the button that signs in at once."""
    return await _form(visit, wanted=_next(visit, visit.query.get("next")))


async def begin(visit: Visit) -> Answer:
    """Have a code mailed, or sign in at once if the settings approve everybody on this machine."""
    email, wanted = visit.form.get("email", "").strip(), _next(visit, visit.form.get("next"))
    before = pending.read(visit.cookies.read(visit.request, cookies.SIGN_IN))
    if before is not None and before.email == email and (wait := before.wait(visit.now, between=BETWEEN_MAILS)):
        detail = f"A code is on its way already. Ask for another one in {wait} s."
        headers = {"Retry-After": str(wait)}
        return _code_form(before, wanted, problem=detail, status=HTTPStatus.TOO_MANY_REQUESTS, headers=headers)
    try:
        begun = await visit.api.post(object, "console", "session", "init", body=_asked(visit, email))
    except Problem as problem:
        return await _form(visit, wanted=wanted, email=email, problem=problem)
    if isinstance(begun, ApprovedSession):
        return signed_in(visit, begun, wanted)
    link = cast(PendingSignIn, begun)
    waiting = Pending.begun(link.session_id, link.device_token, email, now=visit.now, seconds=link.expires_in)
    cookie = visit.cookies.write(cookies.SIGN_IN, waiting.cookie(), seconds=link.expires_in)
    return SeeOther(visit.url("sign-in", "code", query={"next": wanted}), (cookie,))


async def code_form(visit: Visit) -> Answer:
    """The form for the code."""
    wanted = _next(visit, visit.query.get("next"))
    waiting = pending.read(visit.cookies.read(visit.request, cookies.SIGN_IN))
    if waiting is None:
        return await _form(visit, wanted=wanted, problem=Problem(400, "no_cookie", _NO_COOKIE))
    return _code_form(waiting, wanted)


async def finish(visit: Visit) -> Answer:
    """Try the code, and begin the session that it opens."""
    wanted = _next(visit, visit.form.get("next"))
    waiting = pending.read(visit.cookies.read(visit.request, cookies.SIGN_IN))
    if waiting is None:
        return await _form(visit, wanted=wanted, problem=Problem(400, "no_cookie", _NO_COOKIE))
    try:
        claimed = await _claimed(visit, waiting)
    except Problem as problem:
        left = problem.members.get("attempts_remaining")
        if left == 0 or problem.code not in ("invalid_code", "malformed_code", "rate_limited"):
            return await _form(visit, wanted=wanted, email=waiting.email, problem=problem)
        attempts = "" if left is None else f" {left} {'attempts are' if left != 1 else 'attempt is'} left."
        text, headers = _text(problem) + attempts, headers_of(problem)
        return _code_form(waiting, wanted, problem=text, status=problem.status, headers=headers)
    return signed_in(visit, claimed, wanted)


async def sign_out(visit: Visit) -> Answer:
    """End the session."""
    try:
        await visit.api.call("DELETE", "account", "session")
    except Problem as problem:
        if problem.code != "session_not_stored":  # an auto-approved one: to forget its token is to end it
            raise
    return SeeOther(visit.url("sign-in"), (visit.cookies.remove(cookies.SESSION),))


async def _claimed(visit: Visit, waiting: Pending) -> ClaimedSession:
    device = {"authorization": f"Bearer {waiting.device_token}"}
    body = {"sessionId": waiting.session_id}
    code = {**body, "code": visit.form.get("code", "")}
    try:
        await visit.api.call("POST", "console", "session", "verify", body=code, headers=device)
    except Problem as problem:
        if problem.code != "already_verified":  # by this browser, whose answer to the claim was lost
            raise
    return await visit.api.post(ClaimedSession, "console", "session", "claim", body=body, headers=device)


def signed_in(visit: Visit, granted: ApprovedSession | ClaimedSession, wanted: str = "") -> SeeOther:
    """Lead on to the page that was wanted, with the cookies of the new session and of the device."""
    session = visit.cookies.write(cookies.SESSION, granted.session_token, seconds=granted.expires_in)
    kept = [session, visit.cookies.remove(cookies.SIGN_IN)]
    if isinstance(granted, ClaimedSession):
        kept.append(visit.cookies.write(cookies.DEVICE, granted.known_device, seconds=_KNOWN_SECONDS))
    return SeeOther(wanted or visit.url(), tuple(kept))


def _asked(visit: Visit, email: str) -> dict[str, str]:
    """The body of init. A device that has signed in before says so, and strangers cannot use up its mails."""
    known = visit.cookies.read(visit.request, cookies.DEVICE)
    return ({"email": email} if email else {}) | ({} if known is None else {"knownDevice": known})


async def _form(visit: Visit, *, wanted: str, email: str = "", problem: Problem | None = None) -> Html:
    """The first form. Raises a problem that is not the visitor's."""
    if problem is not None and problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise problem
    capabilities = await visit.api.get(Capabilities, "console", "capabilities")
    values = {
        "next": wanted,
        "email": email,
        "problem": None if problem is None else _text(problem),
        "is_approving": "auto_approve" in capabilities.auth_methods,
    }
    if problem is None:
        return Html("sign_in", values)
    return Html("sign_in", values, problem.status, headers_of(problem))


def _code_form(
    waiting: Pending,
    wanted: str,
    *,
    problem: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Html:
    return Html("sign_in_code", {"next": wanted, "pending": waiting, "problem": problem}, status, headers or {})


def _text(problem: Problem) -> str:
    return _TEXTS.get(problem.code) or problem.detail or problem.code


def _next(visit: Visit, asked: str | None) -> str:
    """The page to look at after signing in; nothing if it is not one of ours."""
    if not asked or not asked.startswith(visit.base_path + "/") or not (asked.isascii() and asked.isprintable()):
        return ""
    path = urlsplit(asked).path
    leads_away = "\\" in asked or any(unquote(segment) in (".", "..") for segment in path.split("/"))
    return "" if leads_away else asked
