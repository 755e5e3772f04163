"""The site: find the page of a request, know who asks, make the page, and show problems as pages."""

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from anyio.to_thread import run_sync
from starlette.datastructures import MutableHeaders

from svc_pg.console.bearer import Authenticate
from svc_pg.console.core import Core
from svc_pg.console.pages import assets, cookies
from svc_pg.console.pages.answers import Answer, File, Html, SeeOther
from svc_pg.console.pages.api import Api
from svc_pg.console.pages.cookies import Cookies
from svc_pg.console.pages.forms import read_form
from svc_pg.console.pages.rendering import render
from svc_pg.console.pages.same_origin import require_same_origin
from svc_pg.console.pages.visit import View, Visit
from svc_pg.console.requests import ConsoleRequest, EncodedResponse, Problem
from svc_pg.console.routing import Router
from svc_pg.console.tokens import Session, TokenError
from svc_pg.console.turns import Turns
from svc_pg.settings import Permission

PATH: Final = "/ui"
"""The path of the pages below the console's prefix."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

logger = logging.getLogger("svc_pg.console")


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page. ``path`` may have ``:param`` segments; a page that ``is_open`` needs no session."""

    method: str
    path: str
    view: View
    is_open: bool = False


class Site:
    """Answers requests below ``/ui``, and never raises."""

    def __init__(
        self, core: Core, routes: Iterable[PageRoute], *, authenticate: Authenticate, turns: Turns, is_secure: bool
    ) -> None:
        self._core = core
        self._authenticate = authenticate
        self._turns = turns
        self._is_secure = is_secure
        self._routes: Router[PageRoute] = Router()
        self._routes.add_all((route.method, route.path, route) for route in routes)

    @staticmethod
    def has(request: ConsoleRequest) -> bool:
        """True if the request is for a page."""
        return request.segments[0] == PATH.removeprefix("/")

    async def handle(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], *, until_sent: AsyncExitStack
    ) -> EncodedResponse:
        """Answer a request, as ``Core.handle`` does."""
        base_path = request.base_path + PATH
        visit = Visit(
            request=request,
            api=Api(self._core, request),
            cookies=Cookies(base_path, is_secure=self._is_secure),
            base_path=base_path,
        )
        try:
            response = await self._answered(visit, body, until_sent)
        except Exception:
            logger.exception("request %s failed: %s %s", request.request_id, request.method, request.path)
            response = await _encoded(_problem_page(Problem(500, "internal_error")), visit)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Request-Id"] = request.request_id
        return response

    async def _answered(
        self, visit: Visit, body: AsyncIterator[bytes], until_sent: AsyncExitStack
    ) -> EncodedResponse:
        request = visit.request
        try:
            match request.segments[1:]:
                case () | ("",):
                    return await _encoded(SeeOther(visit.url("overview")), visit)
                case ("static", name) if request.method == "GET":
                    return _static(name, request)
            found = self._routes.find(request.method, request.segments[1:])
            if found is None:
                raise Problem(404, "not_found", "The console has no such page.")
            visit = replace(visit, params=found.params)
            if request.method != "GET":
                require_same_origin(request)
            if not found.target.is_open:
                session = await self._session_of(visit)
                visit = replace(visit, session=session, api=replace(visit.api, session=session))
                await until_sent.enter_async_context(self._turns.of(session.session_id))
            if request.method != "GET":
                visit = replace(visit, form=await read_form(request.headers, body))
            return await _encoded(await found.target.view(visit), visit)
        except Problem as problem:
            logger.log(_level(problem), "request %s: %s: %s", request.request_id, problem.code, problem.detail)
            return await _encoded(_page_of(problem, visit), visit)

    async def _session_of(self, visit: Visit) -> Session:
        """The session of the cookie. Raises Problem 401."""
        token = visit.cookies.read(visit.request, cookies.SESSION)
        if token is None:
            raise Problem(401, "not_authenticated", "Sign in.")
        try:
            return await self._authenticate(token)
        except TokenError as error:
            logger.info("request %s: token refused: %s", visit.request.request_id, error)
            raise Problem(401, "invalid_token", "The session has ended.") from error


def _page_of(problem: Problem, visit: Visit) -> Answer:
    if problem.status != HTTPStatus.UNAUTHORIZED or visit.session is not None:
        return _problem_page(problem)
    if visit.request.headers.get("sec-fetch-site") == "cross-site" and visit.request.method == "GET":
        # SameSite=Strict held the cookie back, because a link of another site led here: ask once more, from here
        return Html("once_more", {"address": visit.same_page()})
    asked = visit.same_page() if visit.request.method == "GET" else ""
    return SeeOther(visit.url("sign-in", query={"next": asked}))


def _problem_page(problem: Problem) -> Html:
    return Html("problem", {"problem": problem}, problem.status, problem.headers)


async def _encoded(answer: Answer, visit: Visit) -> EncodedResponse:
    match answer:
        case Html():
            content = await run_sync(render, answer.template, visit, answer.values)
            headers = MutableHeaders({**answer.headers, "Content-Type": "text/html; charset=utf-8"})
            return EncodedResponse(answer.status, content, headers)
        case SeeOther():
            headers = MutableHeaders({"Location": answer.address})
            for cookie in answer.cookies:
                headers.append("Set-Cookie", cookie)
            return EncodedResponse(303, b"", headers)
        case File():
            return EncodedResponse(200, answer.content, MutableHeaders(dict(answer.headers)))


def _static(name: str, request: ConsoleRequest) -> EncodedResponse:
    found = assets.find(name)
    is_this_version = request.query.get("v") == found.version
    kept = "public, max-age=31536000, immutable" if is_this_version else "no-cache"
    headers = MutableHeaders({"Content-Type": found.media_type, "Cache-Control": kept})
    return EncodedResponse(200, found.content, headers)


def _level(problem: Problem) -> int:
    return logging.WARNING if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR else logging.INFO
