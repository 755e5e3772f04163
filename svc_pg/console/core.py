"""The core handler: find the route, authenticate, check the permission, call the handler, recover from errors."""

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders

from svc_pg.console import cors
from svc_pg.console.body import read_json
from svc_pg.console.encoding import encode
from svc_pg.console.products import Product, ProductEndpoint, permits
from svc_pg.console.requests import ConsoleRequest, ConsoleResponse, EncodedResponse, Problem
from svc_pg.console.routing import Router
from svc_pg.console.tokens import Session, TokenError
from svc_pg.errors import ConfigError
from svc_pg.settings import Permission

ConsoleHandler = Callable[[ConsoleRequest], ConsoleResponse | Awaitable[ConsoleResponse]]
Authenticate = Callable[[str], Awaitable[Session]]
"""From the text of a token to its session; raises TokenError."""

CONSOLE_BODY_BYTES: Final = 16 * 1024
PRODUCT_BODY_BYTES: Final = 1024 * 1024

_CONVENTIONS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_CHALLENGE: Final = 'Bearer realm="svc"'

_Request = TypeVar("_Request", bound=ConsoleRequest)
logger = logging.getLogger("svc_pg.console")


class Core:
    """Answers requests, and never raises. Console routes are open to all; a product's need a session."""

    def __init__(self, *, authenticate: Authenticate, allowed_origins: frozenset[str]) -> None:
        self._authenticate = authenticate
        self._allowed_origins = allowed_origins
        self._console_routes: Router[ConsoleHandler] = Router()
        self._product_routes: Router[ProductEndpoint] = Router()
        self._products: dict[str, Product] = {}

    @property
    def product_ids(self) -> Sequence[str]:
        """In the order of registration."""
        return list(self._products)

    def add_route(self, method: str, path: str, handler: ConsoleHandler) -> None:
        """Add a route under ``/console/``."""
        self._console_routes.add(method, f"/console{path}", handler)

    def add_product(self, product: Product) -> None:
        """Add a product's routes. Raises ConfigError where its id is taken or a path is no pattern."""
        if product.id in self._products:
            raise ConfigError(f"product {product.id!r} is registered already")
        for endpoint in product.endpoints:
            path = "/".join(["", product.id, *filter(None, [endpoint.path.removeprefix("/")])])
            self._product_routes.add(endpoint.method, path, endpoint)
        self._products[product.id] = product

    async def handle(self, request: ConsoleRequest, body: AsyncIterator[bytes]) -> EncodedResponse:
        """Answer. ``body`` is read only where the route and the session allow it."""
        origin = request.headers.get("origin")
        if request.method == "OPTIONS":
            preflight = ConsoleResponse(204, headers=cors.preflight_headers(origin, self._allowed_origins))
            response = _encoded(preflight)
        else:
            response = await self._recovered(request, body)
        response.headers.update(_CONVENTIONS)
        response.headers.update(cors.origin_headers(origin, self._allowed_origins))
        response.headers["X-Request-Id"] = request.request_id
        response.headers.add_vary_header("Origin")
        return response

    async def _recovered(self, request: ConsoleRequest, body: AsyncIterator[bytes]) -> EncodedResponse:
        try:
            return _encoded(await self._answer(request, body))
        except Exception:
            logger.exception("request %s failed: %s %s", request.request_id, request.method, request.path)
            return _encoded(Problem(500, "internal_error").response(request.request_id))

    async def _answer(self, request: ConsoleRequest, body: AsyncIterator[bytes]) -> ConsoleResponse:
        try:
            return await self._routed(request, body)
        except Problem as problem:
            if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                cause = problem.__cause__ or problem.detail
                logger.warning("request %s: %s: %s", request.request_id, problem.code, cause)
            return problem.response(request.request_id)

    async def _routed(self, request: ConsoleRequest, body: AsyncIterator[bytes]) -> ConsoleResponse:
        if console := self._console_routes.find(request.method, request.segments):
            parsed = await read_json(request.headers, body, max_bytes=CONSOLE_BODY_BYTES)
            return await _call(console.target, replace(request, body=parsed))
        if product := self._product_routes.find(request.method, request.segments):
            session = await self._session(request)
            _require(session, product.target.required_permission)
            parsed = await read_json(request.headers, body, max_bytes=PRODUCT_BODY_BYTES)
            return await _call(product.target.handler, request.authenticated(session, product.params, body=parsed))
        raise Problem(404, "not_found", "No route has this method and path.")

    async def _session(self, request: ConsoleRequest) -> Session:
        """The session of the one Bearer token in ``Authorization`` (RFC 6750); nothing else carries one."""
        credentials = request.headers.getlist("authorization")
        scheme, _, token = credentials[0].partition(" ") if credentials else ("", "", "")
        if scheme.lower() != "bearer":
            raise Problem(
                401, "not_authenticated", "Send Authorization: Bearer.", headers={"WWW-Authenticate": _CHALLENGE}
            )
        try:
            if len(credentials) > 1:
                raise TokenError("there are several Authorization headers")
            return await self._authenticate(token)
        except TokenError as error:
            logger.info("request %s: token refused: %s", request.request_id, error)
            challenge = f'{_CHALLENGE}, error="invalid_token"'
            raise Problem(
                401, "invalid_token", "The session is not valid.", headers={"WWW-Authenticate": challenge}
            ) from error


def _require(session: Session, permission: Permission) -> None:
    if not permits(session.permissions, permission):
        challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{permission}"'
        raise Problem(
            403,
            "insufficient_scope",
            f"This needs the permission {permission}.",
            headers={"WWW-Authenticate": challenge},
            required_permission=permission,
        )


async def _call(handler: Callable[[_Request], object], request: _Request) -> ConsoleResponse:
    is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)
    response = handler(request) if is_async else await run_in_threadpool(handler, request)
    if inspect.isawaitable(response):
        response = await response
    if not isinstance(response, ConsoleResponse):
        raise TypeError(f"the handler returned {type(response).__name__}, not a ConsoleResponse")
    return response


def _encoded(response: ConsoleResponse) -> EncodedResponse:
    headers = MutableHeaders(dict(response.headers))
    if response.body is None:
        return EncodedResponse(response.status, b"", headers)
    headers.setdefault("Content-Type", "application/json")
    return EncodedResponse(response.status, encode(response.body), headers)
