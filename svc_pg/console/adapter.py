"""Convert between HTTP and the core handler's requests and responses; no decision is made here."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import quote
from uuid import uuid4

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from svc_pg.console.clients import client_address
from svc_pg.console.core import Core
from svc_pg.console.prefix import mounted_path
from svc_pg.console.requests import ConsoleRequest, Problem


def asgi_app(core: Core, *, title: str, trusted_proxies: Sequence[IPv4Network | IPv6Network]) -> FastAPI:
    """An application to mount, which passes every request to the core handler."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with aclosing(_chunks(request)) as chunks:
            answer = await core.handle(_console_request(request, trusted_proxies), chunks)
        if isinstance(answer.content, bytes):
            response = Response(answer.content, answer.status, answer.headers)
        else:
            response = StreamingResponse(answer.content, answer.status, answer.headers)
        await response(scope, receive, send)

    app = FastAPI(title=title, openapi_url=None, redirect_slashes=False)
    app.router.default = serve
    return app


def _console_request(request: Request, trusted_proxies: Sequence[IPv4Network | IPv6Network]) -> ConsoleRequest:
    peer = None if request.client is None else request.client.host
    return ConsoleRequest(
        method=request.method,
        path=mounted_path(request.scope),
        headers=request.headers,
        query=request.query_params,
        request_id=uuid4().hex,
        client=client_address(peer, request.headers, trusted_proxies),
        base_path=quote(request.scope.get("root_path", "")),
    )


async def _chunks(request: Request) -> AsyncGenerator[bytes, None]:
    """The non-empty parts of a body. Raises Problem if the client leaves or the application's own limit is lower."""
    try:
        async for chunk in request.stream():
            if chunk:
                yield chunk
    except ClientDisconnect as error:
        raise Problem(400, "client_disconnected") from error
    except HTTPException as error:
        raise Problem(error.status_code, "body_refused") from error
