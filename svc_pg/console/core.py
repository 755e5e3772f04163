"""The core handler: find the route, authenticate, check the permission, call the handler, recover from errors."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final

from pydantic import JsonValue

from svc_pg.console.http import quotas
from svc_pg.console.http.bearer import CHALLENGE, SessionOf
from svc_pg.console.http.body import parse_json, read_content
from svc_pg.console.http.calling import call as called
from svc_pg.console.http.documentation import UNDOCUMENTED, Documentation
from svc_pg.console.http.page_links import linked
from svc_pg.console.http.products import RESERVED_IDS, Product, ProductEndpoint, permits
from svc_pg.console.http.repeated_calls import RepeatedCalls
from svc_pg.console.http.requests import (
    AuthenticatedRequest,
    Compression,
    ConsoleRequest,
    ConsoleResponse,
    EncodedResponse,
    Problem,
    explained,
    read_only,
)
from svc_pg.console.http.responses import Encoder, encoded, started
from svc_pg.console.http.routing import Match, Router
from svc_pg.console.http.tokens import Session
from svc_pg.console.openapi.api_document import OPENAPI, ApiDocument, Offered
from svc_pg.console.openapi.document import API_DATE, Route, product_routes
from svc_pg.console.transport import cors
from svc_pg.console.transport.concurrency_limit import Turns
from svc_pg.console.transport.stream_guard import until_ended
from svc_pg.errors import ConfigError, audit_not_installed
from svc_pg.settings import Permission

ConsoleHandler = Callable[[ConsoleRequest], ConsoleResponse | Awaitable[ConsoleResponse]]
CONSOLE_BODY_BYTES: Final = 16 * 1024
PRODUCT_BODY_BYTES: Final = 1024 * 1024

_CONVENTIONS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Svc-Pg-Version": API_DATE,
}
_CONSOLE_WORDS: Final = "The state of the console, and the ways to sign in."

logger = logging.getLogger("svc_pg.console")


class Core:
    """Answers requests, and never raises. Routes below ``console_path`` are open to all; a product's need a session.

    If it ``is_read_only``, only GET reaches products. ``still_of`` finds the session of a request whose answer goes on.
    ``offered`` finds the ids of the products that the database has. ``pages_path`` is that of pages beside the routes.
    """

    def __init__(
        self,
        *,
        session_of: SessionOf,
        still_of: SessionOf | None = None,
        turns: Turns,
        on_refusal: Callable[[ConsoleRequest, Session], None],
        repeats: RepeatedCalls,
        allowed_origins: frozenset[str],
        title: str,
        console_path: str = "/console",
        pages_path: str | None = None,
        is_read_only: bool = False,
        offered: Offered | None = None,
    ) -> None:
        self._session_of = session_of
        self._still_of = still_of or session_of
        self.turns = turns
        self._on_refusal = on_refusal
        self._repeats = repeats
        self.encoder = Encoder()
        """Encodes the answers."""
        self._allowed_origins = allowed_origins
        self._console_path = console_path
        self._pages_path = pages_path
        self._is_read_only = is_read_only
        self._console_routes: Router[ConsoleHandler] = Router()
        self._product_routes: Router[ProductEndpoint] = Router()
        self._product_ids: list[str] = []
        self._offered = offered
        self._document = ApiDocument(title, offered=offered)
        self.add_route("GET", "/openapi.json", self._document.answer, OPENAPI)

    @property
    def product_ids(self) -> Sequence[str]:
        """The ids of the products, in the order of registration."""
        return list(self._product_ids)

    @property
    def routes(self) -> Sequence[Route]:
        """All routes with their documentation, in the order of registration."""
        return self._document.routes

    def openapi(self, *, server_url: str) -> Mapping[str, JsonValue]:
        """The OpenAPI document of all routes."""
        return self._document.document(server_url=server_url)

    def add_route(
        self, method: str, path: str, handler: ConsoleHandler, documentation: Documentation = UNDOCUMENTED
    ) -> None:
        """Add a route below ``console_path``."""
        whole = self._console_path + path
        self._console_routes.add(method, whole, handler)
        self._document.add(
            [Route(method=method, path=whole, documentation=documentation, tag="Console")], description=_CONSOLE_WORDS
        )

    def add_product(self, product: Product, *, below: str | None = None, is_built_in: bool = False) -> None:
        """Add a product's routes, by default below its id. Raises ConfigError if the id, a name or a route is taken."""
        if product.id in RESERVED_IDS and not is_built_in:
            raise ConfigError(f"product id {product.id!r} is reserved for the console")
        if product.id in self._product_ids:
            raise ConfigError(f"product {product.id!r} is registered already")
        routes = product_routes(product, below=f"/{product.id}" if below is None else below)
        self._document.refuse_taken(routes)
        self._product_routes.add_all(
            (endpoint.method, route.path, endpoint) for route, endpoint in zip(routes, product.endpoints, strict=True)
        )
        self._product_ids.append(product.id)
        self._document.add(routes, description=product.description)

    async def handle(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], *, until_sent: AsyncExitStack
    ) -> EncodedResponse:
        """Answer a request. ``body`` is read only if the route and the session allow it.

        The caller closes ``until_sent`` when the answer is sent: it keeps the session's turn until then.
        """
        quotas.begin()
        origins = request.headers.getlist("origin")
        origin = origins[0] if len(origins) == 1 else None  # no browser sends two
        if request.method == "OPTIONS":
            asked = request.headers.get("access-control-request-headers", "")
            preflight = cors.preflight_headers(origin, self._allowed_origins, asked=asked)
            response = encoded(ConsoleResponse(204, headers=preflight))
        else:
            response = await self._recovered(request, body, until_sent)
        response.headers.update(
            {**_CONVENTIONS, **quotas.headers(), **cors.origin_headers(origin, self._allowed_origins)}
        )
        response.headers["X-Request-Id"] = request.request_id
        response.headers.add_vary_header("Origin")
        return response

    async def _recovered(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], until_sent: AsyncExitStack
    ) -> EncodedResponse:
        try:
            answer = await self._answer(request, body, until_sent)
            response = await self.encoder.encoded(answer)
            return replace(response, compression=self._compression(request, response))
        except Exception:
            logger.exception("request %s failed: %s %s", request.request_id, request.method, request.path)
            return encoded(Problem(500, "internal_error").response(request.request_id))

    def _compression(self, request: ConsoleRequest, response: EncodedResponse) -> Compression:
        """The compression that the route of a request allows its answer."""
        if request.method != "GET" or response.status != HTTPStatus.OK:
            return "never"
        if request.path == f"{self._console_path}/openapi.json":
            return "always"
        product = self._product_routes.find(request.method, request.segments)
        return "own" if product is not None and product.target.is_compressed else "never"

    async def _answer(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], until_sent: AsyncExitStack
    ) -> ConsoleResponse:
        try:
            return await started(await self._routed(request, body, until_sent), request.request_id)
        except Problem as problem:
            if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                cause = problem.__cause__ or problem.detail
                logger.warning("request %s: %s: %s", request.request_id, problem.code, cause)
            elif problem.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                logger.info("request %s from %s refused: %s", request.request_id, request.client, problem.code)
            return problem.response(request.request_id)

    async def _routed(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], until_sent: AsyncExitStack
    ) -> ConsoleResponse:
        if console := self._console_routes.find(request.method, request.segments):
            return await called(console.target, await _with_body(request, body, max_bytes=CONSOLE_BODY_BYTES))
        product = self._product_of(request)
        session = await self._session_of(request)
        self._require_permission(request, session, product.target)
        if not product.target.is_stream:
            await until_sent.enter_async_context(self.turns.of(session.session_id))
        complete = await _with_body(request, body, max_bytes=PRODUCT_BODY_BYTES)
        asked = complete.authenticated(session, product.params)
        handle = partial(self._answered, product.target)
        keeps_answer = product.target.keeps_answer
        response = linked(request, await (self._repeats.answered(asked, handle) if keeps_answer else handle(asked)))
        if not isinstance(response.body, AsyncIterator):
            return response
        still = partial(self._still, request, product.target)
        return replace(response, body=until_ended(response.body, still, is_file=not product.target.is_stream))

    async def _still(self, request: ConsoleRequest, endpoint: ProductEndpoint) -> None:
        self._require_permission(request, await self._still_of(request), endpoint)

    async def call(self, request: ConsoleRequest, session: Session | None) -> ConsoleResponse:
        """Answer a call of the console's own pages, whose session is known and has a turn. Raises Problem."""
        complete = replace(request, body=parse_json(request.content))
        if console := self._console_routes.find(request.method, request.segments):
            return await called(console.target, complete)
        product = self._product_of(request)
        if session is None:
            raise Problem(401, "not_authenticated", "Sign in.")
        self._require_permission(request, session, product.target)
        response = await self._answered(product.target, complete.authenticated(session, product.params))
        return await started(response, request.request_id)

    def _product_of(self, request: ConsoleRequest) -> Match[ProductEndpoint]:
        if product := self._product_routes.find(request.method, request.segments):
            return product
        methods = {*self._product_routes.methods(request.segments), *self._console_routes.methods(request.segments)}
        allow = {"Allow": ", ".join(sorted({*methods, "OPTIONS"}))} if methods else {}  # 404, as the specification says
        raise Problem(404, "not_found", f"No route has this method and path. {self._signpost(request)}", headers=allow)

    def _signpost(self, request: ConsoleRequest) -> str:
        """A sentence that names the addresses which somebody may have looked for."""
        document = f"{request.base_path}{self._console_path}/openapi.json describes all routes"
        pages = "" if self._pages_path is None else f"The pages are at {request.base_path}{self._pages_path}; "
        return f"{pages}{document}."

    async def _answered(self, endpoint: ProductEndpoint, request: AuthenticatedRequest) -> ConsoleResponse:
        """Call the handler: of a change after the look at the products, of a read before it, which then waits for one
        connection alone.
        """
        is_read = request.method in ("GET", "HEAD")
        if not is_read:
            await self._require_audit(request)
        response = await called(endpoint.handler, request)
        if is_read:
            await self._require_audit(request)
        return response

    async def _require_audit(self, request: ConsoleRequest) -> None:
        """Raise Problem 503 for a route of an audit trail that is not installed: its log alone could answer some."""
        is_of_audit = request.segments[0] == "audit" and "audit" in self._product_ids
        if is_of_audit and self._offered is not None and "audit" not in await self._offered():
            detail = explained(audit_not_installed())
            raise Problem(503, "not_installed", f"{detail[0].upper()}{detail[1:]}")

    def _require_permission(self, request: ConsoleRequest, session: Session, endpoint: ProductEndpoint) -> None:
        if session.tenant is not None and not endpoint.serves_tenants:
            self._on_refusal(request, session)
            raise Problem(403, "not_for_tenants", "This route does not serve sessions of one tenant.")
        if not permits(session.permissions, endpoint.required_permission):
            self._on_refusal(request, session)
            raise _insufficient_scope(endpoint.required_permission)
        if self._is_read_only and endpoint.method != "GET":
            raise read_only()


async def _with_body(request: ConsoleRequest, body: AsyncIterator[bytes], *, max_bytes: int) -> ConsoleRequest:
    content = await read_content(request.headers, body, max_bytes=max_bytes)
    return replace(request, content=content, body=parse_json(content))


def _insufficient_scope(permission: Permission) -> Problem:
    return Problem(
        403,
        "insufficient_scope",
        f"This needs the permission {permission}.",
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{permission}"'},
        required_permission=permission,
    )
