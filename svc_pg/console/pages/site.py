"""The site: find the page of a request, know who asks, make the page, and show problems as pages."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.datastructures import MutableHeaders

from svc_pg.audit.reads.reading import collecting
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.audit_log.read_recording import question_of
from svc_pg.console.core import Core
from svc_pg.console.http.requests import ConsoleRequest, EncodedResponse, Problem, read_only
from svc_pg.console.http.routing import Match, Router
from svc_pg.console.http.sealing import Sealer
from svc_pg.console.http.tokens import Session
from svc_pg.console.pages import assets
from svc_pg.console.pages.actor_names import actors_in, with_names
from svc_pg.console.pages.alarms import Alarms
from svc_pg.console.pages.answers import Answer, File, Html, SeeOther
from svc_pg.console.pages.api import Api
from svc_pg.console.pages.brand import Brand
from svc_pg.console.pages.cookies import Cookies
from svc_pg.console.pages.forms import read_form
from svc_pg.console.pages.page_request import PageRequest, no_reads
from svc_pg.console.pages.page_route import PageRoute
from svc_pg.console.pages.page_sessions import PageSessionOf
from svc_pg.console.pages.problems import headers_of, problem_page
from svc_pg.console.pages.record_titles import RecordTitles
from svc_pg.console.pages.refusals import SentBackError, carried, sent_back, with_refusal
from svc_pg.console.pages.rendering import render
from svc_pg.console.pages.sent_forms import OnceOf, answered
from svc_pg.console.sessions.host_users import HostUsers
from svc_pg.console.status.offered_products import OfferedProducts
from svc_pg.console.transport.compression import accepts_gzip
from svc_pg.console.transport.concurrency_limit import Turns
from svc_pg.console.transport.same_origin import require_same_origin
from svc_pg.console.transport.stream_guard import until_ended

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

TenantNameOf = Callable[[str], Awaitable[str | None]]
"""Finds the name of a tenant; None if it has none."""

logger = logging.getLogger("svc_pg.console")


def _framed(ancestors: Sequence[str]) -> dict[str, str]:
    """The headers of pages that other sites may have in a frame."""
    allowed = " ".join(ancestors) or "'none'"
    return {"Content-Security-Policy": _POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {allowed}")}


class Site:
    """Answers requests below its path, and never raises.

    The navigation leads to ``offered`` products. ``session_of`` finds the session of a request, ``once_of`` begins the
    transaction of a form. Without a ``log`` there are no pages of the audit log. If it ``is_read_only``, it has no
    forms that change something. The ``titles`` name records on its pages, the ``users`` of the application actors. With
    a ``tenant_name_of``, the head has the name of the session's tenant.
    """

    def __init__(
        self,
        core: Core,
        routes: Iterable[PageRoute],
        *,
        offered: OfferedProducts,
        session_of: PageSessionOf,
        turns: Turns,
        sealer: Sealer,
        once_of: OnceOf,
        is_secure: bool,
        path: Sequence[str] = ("ui",),
        brand: Brand | None = None,
        tenant_name_of: TenantNameOf | None = None,
        log: ConsoleLog | None = None,
        titles: RecordTitles | None = None,
        users: HostUsers | None = None,
        is_read_only: bool = False,
    ) -> None:
        self._core = core
        self._offered = offered
        self._session_of = session_of
        self._turns = turns
        self._sealer = sealer
        self._once_of = once_of
        self._is_secure = is_secure
        self._path = tuple(path)
        self._brand = brand
        self._tenant_name_of = tenant_name_of
        self._log = log
        self._titles = titles or RecordTitles()
        self._users = users or HostUsers()
        self._is_read_only = is_read_only
        self._alarms = Alarms()
        self._headers = _HEADERS if brand is None else _HEADERS | _framed(brand.frame_ancestors)
        self._renderers = CapacityLimiter(_RENDERERS)
        pages = list(routes)
        self._routes: Router[PageRoute] = Router()
        self._routes.add_all((page.method, page.path, page) for page in pages)
        self._nav_items = [
            replace(page.nav_item, path=page.path.removeprefix("/").split("/")) for page in pages if page.nav_item
        ]

    def has(self, request: ConsoleRequest) -> bool:
        """True if the request is for a page, or for the console as a whole and comes from a browser."""
        if request.segments == ("",) and self._brand is None:
            return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
        return request.segments[: len(self._path)] == self._path

    async def handle(
        self, http: ConsoleRequest, body: AsyncIterator[bytes], *, until_sent: AsyncExitStack
    ) -> EncodedResponse:
        """Answer a request, as ``Core.handle`` does."""
        is_head = http.method == "HEAD"  # the server sends the headers alone
        if is_head:
            http = replace(http, method="GET")
        base_path = "/".join([http.base_path, *self._path])
        below = http.path.removeprefix("/").split("/")[len(self._path) :]
        http = replace(http, path="/".join([PATH, *below]))  # addresses within are those of any site
        offered = await self._offered.ids()
        request = PageRequest(
            http=http,
            api=Api(self._core, http),
            cookies=Cookies(
                base_path,
                is_secure=self._is_secure,
                is_embedded=self._brand is not None and bool(self._brand.frame_ancestors),
            ),
            sealer=self._sealer,
            base_path=base_path,
            brand=self._brand,
            is_log_here=self._log is not None and self._log.is_here,
            has_past=self._log is not None and self._log.has_past,
            is_read_only=self._is_read_only,
            titles=self._titles,
            users=self._users,
            has_reads=no_reads if self._log is None else self._log.has_reads,
            nav_items=[item for item in self._nav_items if item.product in (None, *offered)],
        )
        try:
            response = await self._answered(request, body, until_sent)
        except Exception:
            logger.exception("request %s failed: %s %s", http.request_id, http.method, http.path)
            response = await self._encoded(problem_page(Problem(500, "internal_error"), request), request)
        if is_head and isinstance(response.content, AsyncIterator):  # which nobody needs to make
            response = replace(response, content=b"")
        for name, value in self._headers.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Request-Id"] = http.request_id
        return response

    async def _answered(
        self, request: PageRequest, body: AsyncIterator[bytes], until_sent: AsyncExitStack
    ) -> EncodedResponse:
        http = request.http
        try:
            match http.method, *http.segments[1:]:
                case ("OPTIONS", *_):  # no page is for other origins
                    return EncodedResponse(204, b"", MutableHeaders())
                case ("GET",) | ("GET", ""):
                    return await self._encoded(_first_page(request), request)
                case ("GET", "static", name):
                    return _static(name, http)
            found = self._routes.find(http.method, http.segments[1:]) or _MISSING
            request = replace(request, params=found.params)
            if http.method != "GET":
                require_same_origin(http)
                request = replace(request, form=await read_form(http.headers, body), page=found.target.page)
            if not found.target.is_open:
                session = await self._session_of(request)
                request = replace(request, session=session, api=replace(request.api, session=session))
                if not found.target.is_stream:
                    await until_sent.enter_async_context(self._turns.of(session.session_id))
                    request = replace(request, tenant_name=await self._tenant_name(session, http))
            if self._is_read_only and found.target.is_change:
                request = replace(request, page=None)  # which has no form
                raise read_only()
            request = with_refusal(request)
            found.target.check(request.query)
            is_form = http.method != "GET"
            answer = (
                await answered(request, found.target.view, self._once_of)
                if is_form
                else carried(request, await self._viewed(request, found.target))
            )
            if isinstance(answer, Html) and request.session is not None and self._brand is None:
                request = replace(request, alarms=await self._alarms.of(request))
            if isinstance(answer, File) and not found.target.is_open:
                still = partial(self._session_of, request, is_use=False)
                content = until_ended(answer.content, still, is_file=not found.target.is_stream)
                answer = replace(answer, content=content)
            response = await self._encoded(answer, request)
            return replace(response, compression="own") if found.target.is_compressed else response
        except SentBackError as back:
            _log(back.problem, http)
            return await self._encoded(sent_back(request, back.problem, back.address, whose=request.whose), request)
        except Problem as problem:
            _log(problem, http)
            return await self._encoded(problem_page(problem, request), request)

    async def _tenant_name(self, session: Session, http: ConsoleRequest) -> str | None:
        """The name of the session's tenant, for the head of a page."""
        if self._tenant_name_of is None or session.tenant is None or http.method != "GET":
            return None
        return await self._tenant_name_of(session.tenant)

    async def _viewed(self, request: PageRequest, page: PageRoute) -> Answer:
        """The answer of a page, when it is recorded which records it shows."""
        if self._log is None or request.session is None:
            return await page.view(request)
        with collecting("page", {}) as reading:
            answer = await page.view(request)
        if not reading.is_empty:
            asked = request.http.authenticated(request.session, request.params)
            reading.question = question_of(asked, page.path.removeprefix("/"))
            await self._log.record_reads(asked, reading)
        return answer

    async def _encoded(self, answer: Answer, request: PageRequest) -> EncodedResponse:
        match answer:
            case Html():
                content = await run_sync(render, answer.template, request, answer.values, limiter=self._renderers)
                if request.names_actors:
                    actors = actors_in(content)
                    known = await self._users.names_of(actors)
                    content = await run_sync(with_names, content, actors, known, request, limiter=self._renderers)
                headers = MutableHeaders({**answer.headers, "Content-Type": "text/html; charset=utf-8"})
                status = answer.status
                if request.refusal is not None and status == HTTPStatus.OK:
                    status = request.refusal.status
                    headers.update(headers_of(request.refusal))
                return EncodedResponse(status, content, headers)
            case SeeOther():
                headers = MutableHeaders({"Location": answer.address})
                for cookie in answer.cookies:
                    headers.append("Set-Cookie", cookie)
                return EncodedResponse(303, b"", headers)
            case File():
                return EncodedResponse(200, answer.content, MutableHeaders(dict(answer.headers)))


async def _missing(_request: PageRequest) -> Answer:
    raise Problem(404, "not_found", "There is no such page.")


_MISSING: Final = Match(PageRoute("GET", "/", _missing, filters=None), {})
"""Anything else, which needs a session too, so that its answer is a page with the navigation."""


def _first_page(request: PageRequest) -> SeeOther:
    return SeeOther(request.url(*request.nav_items[0].path))


def _static(name: str, http: ConsoleRequest) -> EncodedResponse:
    found = assets.find(name)
    is_this_version = http.query.get("v") == found.version
    kept = "public, max-age=31536000, immutable" if is_this_version else "no-cache"
    headers = MutableHeaders({"Content-Type": found.media_type, "Cache-Control": kept, "Vary": "Accept-Encoding"})
    if not accepts_gzip(http.headers):
        return EncodedResponse(200, found.content, headers)
    headers["Content-Encoding"] = "gzip"
    return EncodedResponse(200, found.gzip, headers)


def _log(problem: Problem, http: ConsoleRequest) -> None:
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("request %s: %s: %s", http.request_id, problem.code, problem.__cause__ or problem.detail)
    elif problem.status == HTTPStatus.FORBIDDEN:
        logger.info("request %s from %s refused: %s", http.request_id, http.client, problem.code)
