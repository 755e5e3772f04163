"""The pages that sign somebody in and out: an address, the mailed code, or on one's own machine one click."""

from datetime import timedelta
from http import HTTPStatus
from typing import Final, cast

from svc_pg.console.discovery import Capabilities
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.own_addresses import own_address
from svc_pg.console.pages.refusals import SentBackError
from svc_pg.console.pages.sign_in import pending
from svc_pg.console.pages.sign_in.pending import Pending
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.devices import KNOWN_FOR
from svc_pg.console.sign_in.routes import ApprovedSession, ClaimedSession, PendingSignIn

BETWEEN_MAILS: Final = timedelta(seconds=30)
"""The time between two codes to one address, as ``svc.console_init`` has it."""

_KNOWN_SECONDS: Final = int(KNOWN_FOR.total_seconds())
_AFTERWARDS_SECONDS: Final = 24 * 3600
_TEXTS: Final = {
    "expired": "The time for that code is over. Ask for another one.",
    "invalid_code": "That code was wrong.",
    "invalid_email": "Write one address, such as ann@company.example.",
    "locked": "There were too many wrong codes. Ask for another one.",
    "unknown_session": "The console does not know this sign-in any more. Ask for another code.",
}
_OF_CODES: Final = ("invalid_code", "malformed_code", "rate_limited")
"""The problems after which another code may be tried."""
_NO_COOKIE: Final = (
    "No sign-in is under way in this browser. If you have just asked for a code, the browser did not keep the "
    "console's cookie: allow cookies, and use https."
)


async def form(visit: Visit) -> Answer:
    """The form for an address, or the button that signs in at once."""
    waiting = pending.read(visit.cookies.read(visit.request, cookies.SIGN_IN)) if visit.refusal else None
    email = visit.form.get("email") or (waiting.email if waiting else "")
    return await _form(visit, wanted=_next(visit, visit.query.get("next")), email=email, problem=visit.refusal)


async def begin(visit: Visit) -> Answer:
    """Have a code mailed, or sign in at once if the settings approve everybody on this machine."""
    email, wanted = visit.form.get("email", "").strip(), _next(visit, visit.form.get("next"))
    before = pending.read(visit.cookies.read(visit.request, cookies.SIGN_IN))
    if before is not None and before.email == email and (wait := before.wait(visit.now, between=BETWEEN_MAILS)):
        detail = f"A code is on its way already. Ask for another one in {wait} s."
        problem = Problem(429, "rate_limited", detail, headers={"Retry-After": str(wait)})
        raise _back(visit, problem, "code", wanted=wanted)
    try:
        begun = await visit.api.post(object, "console", "session", "init", body=_asked(visit, email))
    except Problem as problem:
        raise _back(visit, problem, wanted=wanted) from problem
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
    return Html("sign_in_code", {"next": wanted, "pending": waiting, "problem": _refused_code(visit.refusal)})


async def finish(visit: Visit) -> Answer:
    """Try the code, and begin the session that it opens."""
    wanted = _next(visit, visit.form.get("next"))
    waiting = pending.read(visit.cookies.read(visit.request, cookies.SIGN_IN))
    if waiting is None:
        raise _back(visit, Problem(400, "no_cookie", _NO_COOKIE), wanted=wanted)
    try:
        claimed = await _claimed(visit, waiting)
    except Problem as problem:
        is_over = problem.members.get("attempts_remaining") == 0 or problem.code not in _OF_CODES
        raise _back(visit, problem, *(() if is_over else ("code",)), wanted=wanted) from problem
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
    # a day longer than the session, so that the console can say that it has ended, and knows what its person typed
    seconds = granted.expires_in + _AFTERWARDS_SECONDS
    session = visit.cookies.write(cookies.SESSION, granted.session_token, seconds=seconds)
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
        "over": visit.query.get("over", ""),
    }
    return Html("sign_in", values, 200 if problem is None else problem.status)


def _refused_code(problem: Problem | None) -> str | None:
    """What was wrong with the code, and how often another may be tried."""
    if problem is None:
        return None
    left = problem.members.get("attempts_remaining")
    return _text(problem) + ("" if left is None else f" {left} {'attempts are' if left != 1 else 'attempt is'} left.")


def _back(visit: Visit, problem: Problem, *page: str, wanted: str) -> SentBackError:
    return SentBackError(problem, visit.url("sign-in", *page, query={"next": wanted}))


def _text(problem: Problem) -> str:
    return _TEXTS.get(problem.code) or problem.detail or problem.code


def _next(visit: Visit, asked: str | None) -> str:
    """The page to look at after signing in; nothing if it is not one of ours."""
    return own_address(asked, visit.base_path)
