"""The facts of one attempt with aiohttp, and the response that notes them and never waits for a receiver."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

from svc_pg.webhooks.http.guard import BlockedAddress, UrlBy

_MAX_INTERIM_RESPONSES: Final = 16


@dataclass
class Attempt:
    """The facts of one attempt so far, kept whatever ends it."""

    url_by: UrlBy
    remote_ip: str | None = None
    is_pooled: bool | None = None  # true if its connection had been used before; None without a connection
    is_connected: bool = False  # to the receiver or the proxy
    is_repeated: bool = False
    blocked: BlockedAddress | None = None
    refused: OSError | None = None  # the socket that this machine did not give
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: timedelta | None = None
    body: bytearray = field(default_factory=bytearray)


# Connections may be opened in tasks of their own. These inherit the context, and so find their attempt.
current: ContextVar[Attempt] = ContextVar("attempt")


class Response(aiohttp.ClientResponse):
    """A response that reads the peer's address while the connection is open, and that never waits for a receiver."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """As aiohttp.ClientResponse; notes the facts of the attempt."""
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None:
            raise aiohttp.ServerDisconnectedError
        attempt = current.get()
        attempt.is_connected, attempt.is_pooled = True, attempt.is_pooled is None
        if attempt.is_pooled and protocol.should_close:  # bytes sent before the request do not answer it
            raise aiohttp.ServerDisconnectedError
        if peer := transport.get_extra_info("peername"):
            attempt.remote_ip = peer[0]
        read, reads = protocol.read, 0

        async def read_within_bounds() -> Any:
            nonlocal reads
            reads += 1
            if reads > _MAX_INTERIM_RESPONSES + 1:
                raise HttpProcessingError(message="too many interim responses")
            return await read()

        protocol.read = read_within_bounds  # type: ignore[method-assign] # aiohttp has no bound, and 1xx starve the loop
        try:
            return await super().start(connection)
        finally:
            del protocol.read

    def close(self) -> None:
        """As aiohttp.ClientResponse."""
        # abort: closing waits until everything is sent, which takes forever if the receiver no longer reads
        if self.connection is not None and self.connection.transport is not None:
            self.connection.transport.abort()
        super().close()
