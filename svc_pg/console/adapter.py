"""Convert between HTTP and the core handler's requests and responses; no decision is made here."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from ipaddress import IPv4Network, IPv6Network
from typing import Final, Protocol
from urllib.parse import quote
from uuid import uuid4

from anyio import create_task_group
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from svc_pg.console.core import Core
from svc_pg.console.http.requests import ConsoleRequest, EncodedResponse, Problem
from svc_pg.console.transport.client_addresses import client_address
from svc_pg.console.transport.compression import PART_BYTES, compressed
from svc_pg.console.transport.prefix import mounted_path

SEND_SECONDS: Final = 30
"""The time that a client may take for each part of an answer."""

logger = logging.getLogger("svc_pg.console")


class _ClientStalled(Exception):
    """The client does not read its answer."""


class Pages(Protocol):
    """A site of pages, which answers the requests that it has."""

    def has(self, request: ConsoleRequest, /) -> bool:
        """True if the request is for a page."""

    async def handle(
        self, request: ConsoleRequest, body: AsyncIterator[bytes], /, *, until_sent: AsyncExitStack
    ) -> EncodedResponse:
        """Answer a request, as ``Core.handle`` does."""


def asgi_app(
    core: Core, *, title: str, trusted_proxies: Sequence[IPv4Network | IPv6Network], sites: Sequence[Pages] = ()
) -> ASGIApp:
    """An application to mount, which passes requests for pages to their site, and every other to the core handler."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # which no route takes
            await WebSocketClose()(scope, receive, send)
            return
        request = Request(scope, receive)
        console_request = _console_request(request, trusted_proxies)
        async with AsyncExitStack() as until_sent:
            async with aclosing(_chunks(request)) as chunks:
                site = next((site for site in sites if site.has(console_request)), None)
                handle = core.handle if site is None else site.handle
                answer = await handle(console_request, chunks, until_sent=until_sent)
            answer = compressed(answer, request.headers)
            try:
                async with _while_connected(answer, receive):
                    await _response(answer)(scope, receive, _in_time(send))
            except _ClientStalled:  # the server closes a connection whose answer is not complete
                logger.info("request %s: the client does not read its answer", console_request.request_id)

    app = FastAPI(title=title, openapi_url=None, redirect_slashes=False)
    app.router.default = serve
    return app


def _response(answer: EncodedResponse) -> Response:
    """The answer in parts, so that the server asks for the next when the client has taken those before it."""
    content, headers = answer.content, answer.headers
    if isinstance(content, bytes):
        if len(content) <= PART_BYTES:
            return Response(content, answer.status, headers)
        headers["Content-Length"] = str(len(content))
    return StreamingResponse(_parts(content), answer.status, headers)


async def _parts(content: bytes | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in _one(content) if isinstance(content, bytes) else content:
        for start in range(0, len(piece), PART_BYTES):
            yield piece[start : start + PART_BYTES]


async def _one(content: bytes) -> AsyncIterator[bytes]:
    yield content


@asynccontextmanager
async def _while_connected(answer: EncodedResponse, receive: Receive) -> AsyncIterator[None]:
    """Stop an answer that is made as it is sent when its client leaves: servers may tell only those who ask."""
    if isinstance(answer.content, bytes):
        yield
        return
    async with create_task_group() as group:

        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(listen)
        yield
        group.cancel_scope.cancel()


def _in_time(send: Send) -> Send:
    async def sending(message: Message) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)
        except TimeoutError as error:
            raise _ClientStalled from error

    return sending


def _console_request(request: Request, trusted_proxies: Sequence[IPv4Network | IPv6Network]) -> ConsoleRequest:
    peer = None if request.client is None else request.client.host
    return ConsoleRequest(
        method=request.method,
        path=mounted_path(request.scope),
        headers=request.headers,
        query=request.query_params,
        request_id=uuid4().hex,
        peer=peer,
        scope=request.scope,
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
