"""The site: find the page of a request, know who asks, make the page, and show problems as pages."""

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.datastructures import MutableHeaders

from svc_pg.console.bearer import Authenticate
from svc_pg.console.core import Core
from svc_pg.console.host_sessions import HostSessionOf, ask
from svc_pg.console.pages import assets, cookies
from svc_pg.console.pages.answers import Answer, File, Html, SeeOther
from svc_pg.console.pages.api import Api
from svc_pg.console.pages.cookies import Cookies
from svc_pg.console.pages.forms import read_form
from svc_pg.console.pages.navigation import Place
from svc_pg.console.pages.problems import problem_page
from svc_pg.console.pages.rendering import render
from svc_pg.console.pages.visit import View, Visit
from svc_pg.console.requests import ConsoleRequest, EncodedResponse, Problem
from svc_pg.console.revocation import until_ended
from svc_pg.console.routing import Match, Router
from svc_pg.console.same_origin import require_same_origin
from svc_pg.console.tokens import Session, TokenError
from svc_pg.console.turns import Turns

PATH: Final = "/ui"
"""The path of the pages below the console's prefix."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would send a form's Origin as null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RENDERERS: Final = 4  # threads that take turns on the interpreter

logger = logging.getLogger("svc_pg.console")


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page. ``path`` may have ``:param`` segments; a page that ``is_open`` needs no session.

    With a ``place``, the navigation leads to the page.
    """

    method: str
    path: str
    view: View
    is_open: bool = False
    is_stream: bool = False
    place: Place | None = None


class Site:
    """Answers requests below ``/ui``, and never raises."""

    def __init__(
        self,
        core: Core,
        routes: Iterable[PageRoute],
        *,
        authenticate: Authenticate,
        host: HostSessionOf | None,
        turns: Turns,
        is_secure: bool,
    ) -> None:
        self._core = core
        self._authenticate = authenticate
        self._host = host
        self._turns = turns
        self._is_secure = is_secure
        self._renderers = CapacityLimiter(_RENDERERS)
        pages = list(routes)
        self._routes: Router[PageRoute] = Router()
        self._routes.add_all((page.method, page.path, page) for page in pages)
        self._places = [
            replace(page.place, path=page.path.removeprefix("/").split("/")) for page in pages if page.place
        ]

    @staticmethod
    def has(request: ConsoleRequest) -> bool:
        """True if the request is for a page, or for the console as a whole and comes from a browser."""
        if request.segments == ("",):
            return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
        return request.segments[0] == PATH.removeprefix("/")

    async def handle(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], *, until_sent: AsyncExitStack
    ) -> EncodedResponse:
        """Answer a request, as ``Core.handle`` does."""
        if request.method == "HEAD":  # the server sends the headers alone
            request = replace(request, method="GET")
        base_path = request.base_path + PATH
        visit = Visit(
            request=request,
            api=Api(self._core, request),
            cookies=Cookies(base_path, is_secure=self._is_secure),
            base_path=base_path,
            places=[place for place in self._places if place.product in (None, *self._core.product_ids)],
        )
        try:
            response = await self._answered(visit, body, until_sent)
        except Exception:
            logger.exception("request %s failed: %s %s", request.request_id, request.method, request.path)
            response = await self._encoded(problem_page(Problem(500, "internal_error"), visit), visit)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Request-Id"] = request.request_id
        return response

    async def _answered(self, visit: Visit, body: AsyncIterator[bytes], until_sent: AsyncExitStack) -> EncodedResponse:
        request = visit.request
        try:
            match request.method, *request.segments[1:]:
                case ("OPTIONS", *_):  # no page is for other origins
                    return EncodedResponse(204, b"", MutableHeaders())
                case ("GET",) | ("GET", ""):
                    return await self._encoded(_first_page(visit), visit)
                case ("GET", "static", name):
                    return _static(name, request)
            found = self._routes.find(request.method, request.segments[1:]) or _MISSING
            visit = replace(visit, params=found.params)
            if request.method != "GET":
                require_same_origin(request)
            if not found.target.is_open:
                session = await self._session_of(visit)
                visit = replace(visit, session=session, api=replace(visit.api, session=session))
                if not found.target.is_stream:
                    await until_sent.enter_async_context(self._turns.of(session.session_id))
            if request.method != "GET":
                visit = replace(visit, form=await read_form(request.headers, body))
            answer = await found.target.view(visit)
            if found.target.is_stream and isinstance(answer, File):
                still = partial(self._session_of, visit, is_use=False)
                answer = replace(answer, content=until_ended(answer.content, still))
            return await self._encoded(answer, visit)
        except Problem as problem:
            _log(problem, request)
            return await self._encoded(problem_page(problem, visit), visit)

    async def _session_of(self, visit: Visit, *, is_use: bool = True) -> Session:
        """The session of the cookie, else that of the application's own user. Raises Problem 401."""
        refused = Problem(401, "not_authenticated", "Sign in.")
        token = visit.cookies.read(visit.request, cookies.SESSION)
        if token is not None:
            try:
                # what a script fetches by itself keeps no session alive that its person has left
                is_left = visit.request.headers.get("sec-fetch-dest") == "empty"
                return await self._authenticate(token, is_use=is_use and not is_left)
            except TokenError as error:
                logger.info("request %s: token refused: %s", visit.request.request_id, error)
                refused = Problem(401, "invalid_token", "The session has ended.")
        session = None if self._host is None else await ask(self._host, visit.request)
        if session is None:
            raise refused
        return session

    async def _encoded(self, answer: Answer, visit: Visit) -> EncodedResponse:
        match answer:
            case Html():
                content = await run_sync(render, answer.template, visit, answer.values, limiter=self._renderers)
                headers = MutableHeaders({**answer.headers, "Content-Type": "text/html; charset=utf-8"})
                return EncodedResponse(answer.status, content, headers)
            case SeeOther():
                headers = MutableHeaders({"Location": answer.address})
                for cookie in answer.cookies:
                    headers.append("Set-Cookie", cookie)
                return EncodedResponse(303, b"", headers)
            case File():
                return EncodedResponse(200, answer.content, MutableHeaders(dict(answer.headers)))


async def _missing(_visit: Visit) -> Answer:
    raise Problem(404, "not_found", "The console has no such page.")


_MISSING: Final = Match(PageRoute("GET", "/", _missing), {})
"""Anything else, which needs a session too, so that its answer is a page with the navigation."""


def _first_page(visit: Visit) -> SeeOther:
    return SeeOther(visit.url(*visit.places[0].path))


def _static(name: str, request: ConsoleRequest) -> EncodedResponse:
    found = assets.find(name)
    is_this_version = request.query.get("v") == found.version
    kept = "public, max-age=31536000, immutable" if is_this_version else "no-cache"
    headers = MutableHeaders({"Content-Type": found.media_type, "Cache-Control": kept})
    return EncodedResponse(200, found.content, headers)


def _log(problem: Problem, request: ConsoleRequest) -> None:
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("request %s: %s: %s", request.request_id, problem.code, problem.__cause__ or problem.detail)
    elif problem.status == HTTPStatus.FORBIDDEN:
        logger.info("request %s from %s refused: %s", request.request_id, request.client, problem.code)
