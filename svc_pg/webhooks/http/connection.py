"""A connection to a receiver, over which one exchange at a time takes place."""

import asyncio
import errno
import os
import ssl
from typing import Protocol, cast

from svc_pg.webhooks.http.response_reader import BrokenResponse, ResponseReader
from svc_pg.webhooks.http.route import Site
from svc_pg.webhooks.http.transport import Outcome


class NoConnection(Exception):
    """The connection could not be opened; holds the outcome of the request, and the words for people."""

    def __init__(self, outcome: Outcome, error: str) -> None:
        super().__init__(error)
        self.outcome: Outcome = outcome
        self.error = error


class Exchange(Protocol):
    """The request that a connection carries. Its connection calls one of these once, at the end."""

    def answered(self, connection: "Connection") -> None:
        """The response is complete."""

    def broke(self, connection: "Connection", error: Exception | None) -> None:
        """The connection was lost, or the bytes received are no response (BrokenResponse)."""


class Owner(Protocol):
    """The pool that a connection rests in."""

    def drop(self, connection: "Connection") -> None:
        """Close it."""


class Connection(asyncio.Protocol):
    """An open connection. ``uses`` counts the requests that it has carried."""

    __slots__ = ("_exchange", "_owner", "_plain", "_transport", "idle_since", "reader", "remote_ip", "site", "uses")

    def __init__(self, site: Site, owner: Owner) -> None:
        self.site = site
        self.reader = ResponseReader()
        self.uses = 0
        self.idle_since = 0.0
        self.remote_ip: str | None = None
        self._owner = owner
        self._exchange: Exchange | None = None

    @property
    def is_idle(self) -> bool:
        """True if it may carry another request: it is open, and the last one was sent to its end."""
        is_sent = not self._transport.get_write_buffer_size() and not self._plain.get_write_buffer_size()
        return is_sent and not self._transport.is_closing()

    async def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        """Shake hands. Raises OSError.

        A TLS transport that asyncio makes by itself cannot tell how much the one below it has yet to send.
        """
        try:
            if self._plain.is_closing():  # the receiver spoke first, or hung up
                raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            loop = asyncio.get_running_loop()
            encrypted = await loop.start_tls(self._plain, self, context, server_hostname=host)
        except BaseException:
            self._plain.abort()
            raise
        self._transport = cast(asyncio.Transport, encrypted)

    def post(self, exchange: Exchange, data: bytes) -> None:
        """Send a request; its exchange is told of the end, never before this returns."""
        self._exchange = exchange
        if self.uses:
            self.reader.begin()
        self.uses += 1
        self._transport.write(data)

    def abort(self) -> None:
        """Close it at once, without telling its exchange. Closing properly would wait for a receiver to read."""
        self._exchange = None
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As asyncio.Protocol."""
        self._transport = self._plain = cast(asyncio.Transport, transport)
        if peer := transport.get_extra_info("peername"):
            self.remote_ip = peer[0].partition("%")[0]  # inet knows no zones

    def data_received(self, data: bytes) -> None:
        """As asyncio.Protocol."""
        exchange = self._exchange
        if exchange is None:  # bytes sent before the request do not answer it
            self._owner.drop(self)
            return
        try:
            self.reader.feed(data)
        except BrokenResponse as error:
            self._exchange = None
            exchange.broke(self, error)
            return
        if self.reader.is_complete:
            self._exchange = None
            exchange.answered(self)

    def eof_received(self) -> None:
        """As asyncio.Protocol, which closes the connection only when the receiver has read all of the request."""
        self.connection_lost(None)
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """As asyncio.Protocol."""
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            self._owner.drop(self)
        elif exc is None and self.reader.end():
            exchange.answered(self)
        else:
            exchange.broke(self, exc)
