"""Problems as pages: what happened, what is kept, and what to do."""

from http import HTTPStatus
from typing import Final

from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.refusals import page_of, sent_back
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
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


def needs_write(visit: Visit) -> None:
    """Refuse a page that leads to a change to somebody who may only read. Raises Problem 403."""
    _need(visit, "write")


def needs_admin(visit: Visit) -> None:
    """Refuse a change of administrators to everybody else. Raises Problem 403."""
    _need(visit, "admin")


def _need(visit: Visit, permission: Permission) -> None:
    if not visit.may(permission):
        detail = f"This needs the permission {permission}."
        raise Problem(403, "insufficient_scope", detail, required_permission=permission)


def problem_page(problem: Problem, visit: Visit) -> Answer:
    """The page of a problem. A form leads back to its own page, and somebody who is not signed in to sign in."""
    if problem.status == HTTPStatus.UNAUTHORIZED and visit.session is None:
        return _to_sign_in(visit, problem)
    if visit.page is not None:
        return sent_back(visit, problem, page_of(visit), whose=visit.whose)
    symbol, heading = _HEADINGS.get(problem.status, ("warn", "That did not work"))
    if problem.code == "insufficient_scope":
        symbol, heading = "lock", f"This needs the permission {problem.members['required_permission']}"
    values = {"problem": problem, "symbol": symbol, "heading": heading}
    return Html("problem", values, problem.status, headers_of(problem))


def headers_of(problem: Problem) -> dict[str, str]:
    """The headers of a problem that its page has too."""
    return {name: value for name, value in problem.headers.items() if name in ("Retry-After", "Connection")}


def _to_sign_in(visit: Visit, problem: Problem) -> Answer:
    if visit.request.method != "GET":
        return _form_to_sign_in(visit, problem)
    if _may_have_cookie(visit):
        # SameSite=Strict held the cookie back, because a link of another site led here: ask once more, from here
        return Html("once_more", {"address": visit.same_page()})
    if visit.brand is not None:
        return Html("portal_enter", {"token": "", "is_framed": False}, HTTPStatus.UNAUTHORIZED)
    over = "page" if problem.code == "invalid_token" else ""
    return SeeOther(visit.url("sign-in", query={"next": visit.same_page(), "over": over}))


def _form_to_sign_in(visit: Visit, problem: Problem) -> SeeOther:
    """The way from a form whose session has ended, back to its page with what the same person typed."""
    over = "" if visit.page is None else "form"
    if visit.brand is not None:
        return SeeOther(visit.url("enter", query={"over": over}))
    if visit.page is None:
        return SeeOther(visit.url("sign-in"))
    person = str(problem.members.get("was", ""))
    back = sent_back(visit, _OVER, page_of(visit), whose=person, keeps=bool(person))
    return SeeOther(visit.url("sign-in", query={"next": back.address, "over": over}), back.cookies)


def _may_have_cookie(visit: Visit) -> bool:
    """True if a link of another site led here, for which browsers hold back a cookie of SameSite=Strict."""
    return visit.request.method == "GET" and visit.request.headers.get("sec-fetch-site") == "cross-site"
