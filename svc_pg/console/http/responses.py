"""Begin and encode the responses of handlers."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from starlette.datastructures import MutableHeaders

from svc_pg.console.http.requests import ConsoleResponse, EncodedResponse
from svc_pg.formats.json_writer import encode


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
    return EncodedResponse(response.status, encode(response.body), headers)
