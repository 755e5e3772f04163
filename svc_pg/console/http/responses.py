"""Begin and encode the responses of handlers."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, replace
from typing import Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.datastructures import MutableHeaders

from svc_pg.console.http.requests import ConsoleResponse, EncodedResponse
from svc_pg.formats.json_writer import encode

_THREADS: Final = 4  # they take turns on the interpreter; one whose answer nobody wants any more ends by itself


@dataclass(frozen=True, slots=True)
class Prepared(ConsoleResponse):
    """A response whose body is encoded: ``content`` is it. Nothing but its headers is replaced any more."""

    content: bytes = b""


async def started(response: ConsoleResponse, request_id: str) -> ConsoleResponse:
    """The response, with the first part of a stream made: a failure up to then can still become a problem document."""
    if not isinstance(response.body, AsyncIterator):
        return response
    return replace(response, body=_resumed(await anext(response.body, b""), response.body, request_id))


async def _resumed(first: bytes, rest: AsyncIterator[bytes], request_id: str) -> AsyncIterator[bytes]:
    try:
        yield first
        async for part in rest:
            yield part
    except Exception as error:  # the server cuts the connection, so that the client sees that the end is missing
        raise RuntimeError(f"request {request_id} failed while its answer was being sent") from error
    finally:
        if isinstance(rest, AsyncGenerator):
            await rest.aclose()


def encoded(response: ConsoleResponse) -> EncodedResponse:
    """The response as it goes out."""
    headers = MutableHeaders(dict(response.headers))
    if isinstance(response.body, AsyncIterator):
        return EncodedResponse(response.status, response.body, headers)
    if response.body is None:
        return EncodedResponse(response.status, b"", headers)
    headers.setdefault("Content-Type", "application/json")
    content = response.content if isinstance(response, Prepared) else encode(response.body)
    return EncodedResponse(response.status, content, headers)


class Encoder:
    """Encodes in threads, because a page may have megabytes, and the application's other requests wait for the loop."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(_THREADS)

    async def encoded(self, response: ConsoleResponse) -> EncodedResponse:
        """The response as it goes out."""
        if isinstance(response, Prepared):
            return encoded(response)
        return await run_sync(encoded, response, limiter=self._threads)

    async def prepared(self, response: ConsoleResponse) -> ConsoleResponse:
        """The response with its body encoded, while something else is under way that has to end before it goes out."""
        if response.body is None or isinstance(response.body, AsyncIterator):
            return response
        content = await run_sync(encode, response.body, limiter=self._threads)
        return Prepared(response.status, response.body, response.headers, content)
