"""Serve a few pages over HTTP/1.1 for monitoring: one request on each connection, within bounds."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from http.client import HTTPException, parse_headers
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

_log = logging.getLogger(__name__)

_MOST_CONNECTIONS: Final = 64  # at a time; further ones are closed
_MOST_OF_HEAD: Final = 16 * 1024  # bytes
_PATIENCE: Final = 10.0  # seconds for a request to come, and for its answer to go


class Answer(NamedTuple):
    """The answer of a page."""

    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    status: int = HTTPStatus.OK


Page = Callable[[str], Awaitable[Answer]]
"""Answers GET and HEAD. It gets only the header Accept of a request."""


@asynccontextmanager
async def page_server(pages: Mapping[str, Page], *, host: str, port: int) -> AsyncIterator[None]:
    """Serve pages by their paths until the end of the block. Raises OSError if the address is not free."""
    serving: set[asyncio.Task[Any] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        try:
            if len(serving) < _MOST_CONNECTIONS:
                serving.add(task)
                await _serve(pages, reader, writer)
        finally:
            serving.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(serve, host, port, limit=_MOST_OF_HEAD)
    try:
        yield
    finally:
        server.close()
        under_way = [task for task in serving if task is not None]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _serve(pages: Mapping[str, Page], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, EOFError, asyncio.LimitOverrunError, RuntimeError):  # uvloop's may be a RuntimeError
        async with asyncio.timeout(_PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
        answer = await _answer(pages, head)
        lines = [
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
            f"Content-Type: {answer.content_type}",
            f"Content-Length: {len(answer.body)}",
            *(["Allow: GET, HEAD"] if answer.status == HTTPStatus.METHOD_NOT_ALLOWED else []),
            "Connection: close",
        ]
        async with asyncio.timeout(_PATIENCE):
            writer.write("\r\n".join([*lines, "", ""]).encode() + (b"" if head.startswith(b"HEAD ") else answer.body))
            writer.close()
            await writer.wait_closed()


async def _answer(pages: Mapping[str, Page], head: bytes) -> Answer:
    line, _, fields = head.partition(b"\r\n")
    try:
        method, target, _ = line.decode("ascii").split(" ")
        path = urlsplit(target).path
        accept = " ".join(str(parse_headers(io.BytesIO(fields)).get("Accept", "")).split())  # without a line break
    except (ValueError, HTTPException):
        return _status(HTTPStatus.BAD_REQUEST)
    if path not in pages:
        return _status(HTTPStatus.NOT_FOUND)
    if method not in ("GET", "HEAD"):
        return _status(HTTPStatus.METHOD_NOT_ALLOWED)
    try:
        return await pages[path](accept)
    except Exception:  # noqa: BLE001 - a bug must not harm the process that is watched
        _log.exception("%s cannot be answered", path)
        return _status(HTTPStatus.INTERNAL_SERVER_ERROR)


def _status(status: HTTPStatus) -> Answer:
    return Answer(f"{status.phrase}\n".encode(), status=status)
