"""Requests of tests, with the transport's callback as an awaitable."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Destination, Request, Result, Transport


async def send(transport: Transport, request: Request) -> Result:
    """The result of a request. Cancelling this ends the wait, not the request."""
    result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def done(found: Result) -> None:
        if not result.cancelled():
            result.set_result(found)

    transport.start(request, done)
    assert not result.done()
    return await result


def post(
    url: str,
    body: bytes = b"{}",
    headers: Mapping[str, str] = {},
    *,
    timeout: timedelta = timedelta(seconds=15),
    connect_timeout: timedelta = timedelta(seconds=5),
    tls: Tls | None = None,
) -> Request:
    """A request to a destination of its own."""
    return Request(Destination(url, headers, timeout, connect_timeout, tls), body)
