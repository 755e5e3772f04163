"""One POST with an answer in bytes, to a URL that the operator set: through the worker's HTTP client, and its proxy."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from typing import Final

from svc_pg.errors import EndpointError, SvcError
from svc_pg.webhooks.http.connection import Connection, NoConnection
from svc_pg.webhooks.http.dialer import Dial, Dialer
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.response import MAX_BODY_BYTES
from svc_pg.webhooks.http.route import route
from svc_pg.webhooks.http.transport import Destination, Request

_ANYWHERE: Final = Guard((ip_network("0.0.0.0/0"), ip_network("::/0")), allow_http=True)
"""For a URL of the program's own environment: whoever sets that can connect anywhere already."""
_LONGEST: Final = timedelta(seconds=15)


class _Answer:
    """The exchange of the request, and the owner of its connection, which carries no other."""

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(self, connection: Connection) -> None:  # noqa: ARG002 - as the protocol has it
        """As the connection's exchange."""
        if not self.done.done():
            self.done.set_result(None)

    def broke(self, connection: Connection, error: Exception | None) -> None:  # noqa: ARG002 - as the protocol has it
        """As the connection's exchange."""
        if not self.done.done():
            self.done.set_exception(SvcError("it answered no complete HTTP response"))

    def drop(self, connection: Connection) -> None:
        """As the connection's owner."""
        connection.abort()


def post(url: str, body: bytes, headers: Mapping[str, str], *, proxy: str | None = None) -> bytes:
    """The body of a response with status 200, of at most 16 KiB, within 15 s; redirects are not followed.

    ``url`` may lead to any address, with http or https. Call it in a thread without an event loop. Raises SvcError,
    which does not show the URL.
    """
    destination = Destination(url, headers, timeout=_LONGEST)
    return asyncio.run(_posted(Request(destination, body), None if proxy is None else Proxy.of(proxy)))


async def _posted(request: Request, proxy: Proxy | None) -> bytes:
    seconds = _LONGEST.total_seconds()
    late = f"no complete response within {seconds:g} s"
    dialer = Dialer(_ANYWHERE, proxy)
    try:
        way = route(request.destination, _ANYWHERE, proxy)
        answer = _Answer()
        async with asyncio.timeout(seconds):
            connection = await dialer.open(Dial(way.site), partial(Connection, way.site, answer), seconds, late)
            try:
                connection.post(answer, way.write(request))
                await answer.done
            finally:
                connection.abort()
    except TimeoutError as error:
        raise SvcError(late) from error
    except NoConnection as error:
        raise SvcError(error.error) from error
    except EndpointError as error:
        raise SvcError(error.message, hint=error.hint) from error
    finally:
        await dialer.close()
    return _body_of(connection)


def _body_of(connection: Connection) -> bytes:
    reader = connection.reader
    if reader.status != 200:
        advice = "; redirects are not followed" if 300 <= (reader.status or 0) < 400 else ""
        raise SvcError(f"it answered {reader.status}{advice}")
    if len(reader.body) > MAX_BODY_BYTES:
        raise SvcError(f"it answered more than {MAX_BODY_BYTES} bytes")
    return bytes(reader.body)
