"""The pages that sign somebody in and out: an address, the mailed code, or on one's own machine one click."""

from datetime import timedelta
from http import HTTPStatus
from typing import Final, cast

from svc_pg.console.built_in.discovery import Capabilities
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.own_addresses import own_address
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.refusals import SentBackError
from svc_pg.console.pages.sign_in import pending
from svc_pg.console.pages.sign_in.pending import Pending
from svc_pg.console.sign_in.devices import KNOWN_FOR
from svc_pg.console.sign_in.sign_in_routes import ApprovedSession, ClaimedSession, PendingSignIn

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


async def form(request: PageRequest) -> Answer:
    """The form for an address, or the button that signs in at once."""
    waiting = pending.pending_of(request.cookies.read(request.http, cookies.SIGN_IN)) if request.refusal else None
    email = request.form.get("email") or (waiting.email if waiting else "")
    return await _form(request, wanted=_next(request, request.query.get("next")), email=email, problem=request.refusal)


async def begin(request: PageRequest) -> Answer:
    """Have a code mailed, or sign in at once if the settings approve everybody on this machine."""
    email, wanted = request.form.get("email", "").strip(), _next(request, request.form.get("next"))
    before = pending.pending_of(request.cookies.read(request.http, cookies.SIGN_IN))
    if before is not None and before.email == email and (wait := before.wait(request.now, between=BETWEEN_MAILS)):
        detail = f"A code is on its way already. Ask for another one in {wait} s."
        problem = Problem(429, "rate_limited", detail, headers={"Retry-After": str(wait)})
        raise _back(request, problem, "code", wanted=wanted)
    try:
        begun = await request.api.post(object, "console", "session", "init", body=_asked(request, email))
    except Problem as problem:
        raise _back(request, problem, wanted=wanted) from problem
    if isinstance(begun, ApprovedSession):
        return signed_in(request, begun, wanted)
    link = cast(PendingSignIn, begun)
    waiting = Pending.begun(link.session_id, link.device_token, email, now=request.now, seconds=link.expires_in)
    cookie = request.cookies.write(cookies.SIGN_IN, waiting.cookie(), seconds=link.expires_in)
    return SeeOther(request.url("sign-in", "code", query={"next": wanted}), (cookie,))


async def code_form(request: PageRequest) -> Answer:
    """The form for the code."""
    wanted = _next(request, request.query.get("next"))
    waiting = pending.pending_of(request.cookies.read(request.http, cookies.SIGN_IN))
    if waiting is None:
        return await _form(request, wanted=wanted, problem=Problem(400, "no_cookie", _NO_COOKIE))
    return Html("sign_in_code", {"next": wanted, "pending": waiting, "problem": _refused_code(request.refusal)})


async def finish(request: PageRequest) -> Answer:
    """Try the code, and begin the session that it opens."""
    wanted = _next(request, request.form.get("next"))
    waiting = pending.pending_of(request.cookies.read(request.http, cookies.SIGN_IN))
    if waiting is None:
        raise _back(request, Problem(400, "no_cookie", _NO_COOKIE), wanted=wanted)
    try:
        claimed = await _claimed(request, waiting)
    except Problem as problem:
        is_over = problem.members.get("attempts_remaining") == 0 or problem.code not in _OF_CODES
        raise _back(request, problem, *(() if is_over else ("code",)), wanted=wanted) from problem
    return signed_in(request, claimed, wanted)


async def sign_out(request: PageRequest) -> Answer:
    """End the session."""
    try:
        await request.api.call("DELETE", "account", "session")
    except Problem as problem:
        # an auto-approved one: to forget its token is to end it; or one that a console which only reads cannot end
        if problem.code not in ("session_not_stored", "read_only"):
            raise
    return SeeOther(request.url("sign-in"), (request.cookies.remove(cookies.SESSION),))


async def _claimed(request: PageRequest, waiting: Pending) -> ClaimedSession:
    device = {"authorization": f"Bearer {waiting.device_token}"}
    body = {"sessionId": waiting.session_id}
    code = {**body, "code": request.form.get("code", "")}
    try:
        await request.api.call("POST", "console", "session", "verify", body=code, headers=device)
    except Problem as problem:
        if problem.code != "already_verified":  # by this browser, whose answer to the claim was lost
            raise
    return await request.api.post(ClaimedSession, "console", "session", "claim", body=body, headers=device)


def signed_in(request: PageRequest, granted: ApprovedSession | ClaimedSession, wanted: str = "") -> SeeOther:
    """Lead on to the page that was wanted, with the cookies of the new session and of the device."""
    # a day longer than the session, so that the console can say that it has ended, and knows what its person typed
    seconds = granted.expires_in + _AFTERWARDS_SECONDS
    session = request.cookies.write(cookies.SESSION, granted.session_token, seconds=seconds)
    kept = [session, request.cookies.remove(cookies.SIGN_IN)]
    if isinstance(granted, ClaimedSession):
        kept.append(request.cookies.write(cookies.DEVICE, granted.known_device, seconds=_KNOWN_SECONDS))
    return SeeOther(wanted or request.url(), tuple(kept))


def _asked(request: PageRequest, email: str) -> dict[str, str]:
    """The body of init. A device that has signed in before says so, and strangers cannot use up its mails."""
    known = request.cookies.read(request.http, cookies.DEVICE)
    return ({"email": email} if email else {}) | ({} if known is None else {"knownDevice": known})


async def _form(request: PageRequest, *, wanted: str, email: str = "", problem: Problem | None = None) -> Html:
    """The first form. Raises a problem of the server."""
    if problem is not None and problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise problem
    capabilities = await request.api.get(Capabilities, "console", "capabilities")
    values = {
        "next": wanted,
        "email": email,
        "problem": None if problem is None else _text(problem),
        "is_wrong": problem is not None and problem.code == "invalid_body",
        "is_approving": "auto_approve" in capabilities.auth_methods,
        "over": request.query.get("over", ""),
        "elsewhere": await request.users.sign_in_address(wanted or request.url()),
        "is_elsewhere_alone": request.users.is_alone or not capabilities.auth_methods,
    }
    return Html("sign_in", values, 200 if problem is None else problem.status)


def _refused_code(problem: Problem | None) -> str | None:
    """The problem of the code, and the number of attempts left."""
    if problem is None:
        return None
    left = problem.members.get("attempts_remaining")
    return _text(problem) + ("" if left is None else f" {left} {'attempts are' if left != 1 else 'attempt is'} left.")


def _back(request: PageRequest, problem: Problem, *page: str, wanted: str) -> SentBackError:
    return SentBackError(problem, request.url("sign-in", *page, query={"next": wanted}))


def _text(problem: Problem) -> str:
    return _TEXTS.get(problem.code) or problem.detail or problem.code


def _next(request: PageRequest, asked: str | None) -> str:
    """The page to look at after signing in; nothing if it is not one of ours."""
    return own_address(asked, request.base_path)
