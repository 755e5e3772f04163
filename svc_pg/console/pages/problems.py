"""Problems as pages: the cause, the kept values, and the next step."""

from http import HTTPStatus
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.refusals import page_of, sent_back
from svc_pg.settings import Permission

_HEADINGS: Final = {
    400: ("warn", "That could not be read"),
    404: ("search", "Not found"),
    409: ("warn", "That is not possible now"),
    413: ("warn", "That was too much at once"),
    422: ("warn", "That is not valid"),
    429: ("wait", "Too many calls at once"),
    500: ("bad", "The console failed"),
    503: ("bad", "The database does not answer as it should"),
}
_OVER: Final = Problem(
    HTTPStatus.CONFLICT,
    "session_over",
    "Your session had ended, so nothing was changed. Look through the form, and send it again.",
)


def needs_write(request: PageRequest) -> None:
    """Refuse a page that leads to a change, without the permission to write. Raises Problem 403."""
    _need(request, "write")


def needs_admin(request: PageRequest) -> None:
    """Refuse a change of administrators to everybody else. Raises Problem 403."""
    _need(request, "admin")


def _need(request: PageRequest, permission: Permission) -> None:
    if not request.may(permission):
        detail = f"This needs the permission {permission}."
        raise Problem(403, "insufficient_scope", detail, required_permission=permission)


def problem_page(problem: Problem, request: PageRequest) -> Answer:
    """The page of a problem. A form leads back to its own page; without a session, the answer leads to the sign-in."""
    if problem.status == HTTPStatus.UNAUTHORIZED and request.session is None:
        return _to_sign_in(request, problem)
    if request.page is not None:
        return sent_back(request, problem, page_of(request), whose=request.whose)
    symbol, heading = _HEADINGS.get(problem.status, ("warn", "That did not work"))
    if problem.code == "insufficient_scope":
        symbol, heading = "lock", f"This needs the permission {problem.members['required_permission']}"
    values = {"problem": problem, "symbol": symbol, "heading": heading}
    return Html("problem", values, problem.status, headers_of(problem))


def headers_of(problem: Problem) -> dict[str, str]:
    """The headers of a problem that its page has too."""
    return {name: value for name, value in problem.headers.items() if name in ("Retry-After", "Connection")}


def _to_sign_in(request: PageRequest, problem: Problem) -> Answer:
    if request.http.method != "GET":
        return _form_to_sign_in(request, problem)
    if _may_have_cookie(request):
        # SameSite=Strict held the cookie back, because a link of another site led here: ask once more, from here
        return Html("once_more", {"address": request.same_page()})
    if request.brand is not None:
        return Html("portal_enter", {"token": "", "is_framed": False}, HTTPStatus.UNAUTHORIZED)
    over = "page" if problem.code == "invalid_token" else ""
    return SeeOther(request.url("sign-in", query={"next": request.same_page(), "over": over}))


def _form_to_sign_in(request: PageRequest, problem: Problem) -> SeeOther:
    """The way from a form whose session has ended, back to its page with the typed values of the same person."""
    over = "" if request.page is None else "form"
    if request.brand is not None:
        return SeeOther(request.url("enter", query={"over": over}))
    if request.page is None:
        return SeeOther(request.url("sign-in"))
    person = str(problem.members.get("was", ""))
    back = sent_back(request, _OVER, page_of(request), whose=person, keeps=bool(person))
    return SeeOther(request.url("sign-in", query={"next": back.address, "over": over}), back.cookies)


def _may_have_cookie(request: PageRequest) -> bool:
    """True if a link of another site led here, for which browsers hold back a cookie of SameSite=Strict."""
    return request.http.method == "GET" and request.http.headers.get("sec-fetch-site") == "cross-site"
