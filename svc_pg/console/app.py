"""The console as a part of an application, or as an application of its own."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Final
from uuid import uuid4

from fastapi import FastAPI
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from svc_pg.console import sessions, tokens
from svc_pg.console.audit_product import audit_product
from svc_pg.console.core import Core
from svc_pg.console.cors import exact_origins
from svc_pg.console.database import Database
from svc_pg.console.prefix import PrefixMiddleware, mounted_path
from svc_pg.console.products import Product
from svc_pg.console.requests import ConsoleRequest, Problem
from svc_pg.console.tokens import Session, SignInMethod
from svc_pg.console.webhooks_product import webhooks_product
from svc_pg.errors import ConfigError, ConsoleAutoApproveInProductionError
from svc_pg.settings import Settings

METHOD: Final[SignInMethod] = "auto_approve"


class Console:
    """The console API below ``/.well-known/svc``.

    It uses ``pool`` and never opens or closes it; without one it opens its own for ``settings.database_url`` while its
    ``lifespan`` runs. Raises ConfigError, ConsoleWeakSecretError or ConsoleAutoApproveInProductionError where the
    settings are not good enough to start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        pool: AsyncConnectionPool[Any] | None = None,
        products: Iterable[Product] = (),
    ) -> None:
        self._key = _signing_key(settings)
        self._database = Database(settings.database_url, pool)
        self._core = Core(
            authenticate=self._authenticate, allowed_origins=exact_origins(settings.console_allowed_origins)
        )
        self._core.add_route("GET", "/health", sessions.health)
        self._core.add_route("GET", "/capabilities", sessions.capabilities(lambda: self._core.product_ids, [METHOD]))
        self._core.add_route("POST", "/session/init", sessions.auto_approve(settings, self._key))
        for product in (audit_product(self.connection), webhooks_product(self.connection), *products):
            self.register_product(product)

        self.app = FastAPI(title="svc-pg console", openapi_url=None, redirect_slashes=False)
        """The console below its prefix; what none of its own routes takes goes to the core handler."""
        self.app.router.default = self._serve
        self.asgi: ASGIApp = PrefixMiddleware(Starlette(lifespan=self.lifespan), console=self.app)
        """An application of its own, with its lifespan; 404 for what is not below the prefix."""

    def register_product(self, product: Product) -> None:
        """Add a product's routes. Raises ConfigError where its id or one of its routes is taken."""
        self._core.add_product(product)

    def install(self, app: Starlette) -> None:
        """Put the console before all routes and middleware of a FastAPI or Starlette application.

        Call it after the last ``add_middleware``: middleware that is added later stands before the console, where CORS
        middleware would answer its preflights.
        """
        app.add_middleware(PrefixMiddleware, console=self.app)

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """For ``FastAPI(lifespan=console.lifespan)``, or ``async with console.lifespan():`` in a lifespan of yours."""
        async with self._database.opened():
            yield

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A database connection in a transaction of its own, for handlers. Raises Problem 503 where there is none."""
        return self._database.connection()

    async def _authenticate(self, token: str) -> Session:
        return tokens.verify(token, self._key, method=METHOD)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with aclosing(_chunks(request)) as chunks:
            answer = await self._core.handle(_console_request(request), chunks)
        await Response(answer.content, answer.status, answer.headers)(scope, receive, send)


def _signing_key(settings: Settings) -> bytes:
    if settings.console_auto_approve and settings.env == "production":
        raise ConsoleAutoApproveInProductionError(
            "SVC_CONSOLE_AUTO_APPROVE is on, and SVC_ENV is production or unset",
            hint="Auto-approve signs anybody in. Set SVC_ENV=development on your own machine, else switch it off.",
        )
    key = tokens.signing_key(settings.console_connection_token_hash, env=settings.env)
    if not settings.console_auto_approve:
        raise ConfigError(
            "nobody could sign in to the console: auto-approve is off, and this version has no magic links",
            hint="Set SVC_CONSOLE_AUTO_APPROVE=true and SVC_ENV=development on your own machine.",
        )
    return key


def _console_request(request: Request) -> ConsoleRequest:
    return ConsoleRequest(
        method=request.method,
        path=mounted_path(request.scope),
        headers=request.headers,
        query=request.query_params,
        request_id=uuid4().hex,
        client=None if request.client is None else request.client.host,
    )


async def _chunks(request: Request) -> AsyncGenerator[bytes, None]:
    """The non-empty parts of a body. Raises Problem where the client leaves or the application's own limit is lower."""
    try:
        async for chunk in request.stream():
            if chunk:
                yield chunk
    except ClientDisconnect as error:
        raise Problem(400, "client_disconnected") from error
    except HTTPException as error:
        raise Problem(error.status_code, "body_refused") from error
