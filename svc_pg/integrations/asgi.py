"""The actor of ASGI requests: FastAPI, Starlette, Litestar and everything else that speaks ASGI."""

from collections.abc import Awaitable, Callable, MutableMapping
from inspect import isawaitable
from typing import Any

from anyio.to_thread import run_sync

from svc_pg.audit.context import Actor, acting_as
from svc_pg.integrations.extractors import (
    ACTOR_HEADER,
    Extractor,
    Request,
    blocks,
    request_context,
    to_actor,
    trusts_actor_header,
)
from svc_pg.integrations.watching import watch

# as starlette.types has them, which an application of another framework need not have installed
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class ActorMiddleware:
    """Runs each HTTP request and WebSocket, with its streams and background tasks, as the actor that it comes from.

    ``extractor`` may be a coroutine function. With ``records_request`` the context of each entry has ``request_id``,
    from X-Request-ID or new, and ``ip``. A WebSocket keeps the actor of its handshake until it closes. If the extractor
    finds none, there is no actor. An ACTOR_HEADER that the extractor does not trust never reaches the application.
    """

    def __init__(self, app: ASGIApp, *, extractor: Extractor, records_request: bool = False) -> None:
        self._app = app
        self._extractor = extractor
        self._records_request = records_request
        self._trusts_header = trusts_actor_header(extractor)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection (ASGI)."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if not self._trusts_header:
            scope = _without_actor_header(scope)
        with acting_as(await self._actor(scope)):
            await self._app(scope, receive, send)

    async def _actor(self, scope: Scope) -> Actor | None:
        watch()
        request = Request(_headers(scope), scope)
        if blocks(self._extractor):
            found = await run_sync(self._extractor, request)
        else:
            found = self._extractor(request)
        if isawaitable(found):
            found = await found
        ip = scope["client"][0] if scope.get("client") else None
        return to_actor(found, request_context(request.headers, ip) if self._records_request else None)


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name in headers:
            value = f"{headers[name]}{'; ' if name == 'cookie' else ', '}{value}"
        headers[name] = value
    return headers


def _without_actor_header(scope: Scope) -> Scope:
    kept = [(name, value) for name, value in scope["headers"] if not _is_actor_header(name)]
    return {**scope, "headers": kept} if len(kept) < len(scope["headers"]) else scope


def _is_actor_header(name: bytes) -> bool:
    """True if it is ACTOR_HEADER, also spelled with underscores, which a WSGI application below cannot tell apart."""
    return name.lower().replace(b"_", b"-") == ACTOR_HEADER.encode()
