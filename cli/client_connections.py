"""Connections of clients to ``serve``: bounded in number, and in the time that a client may take."""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

ANSWERED: Final = 500
"""Connections beyond which requests are answered with 503."""
ACCEPTED: Final = 750
"""Connections beyond which new ones are closed at once, below the 1,024 files that a process usually may open."""
HEADER_SECONDS: Final = 10
BODY_SECONDS: Final = 40
"""The longest time for a request. The console's own limit for a body is shorter, because it can answer."""
READ_SECONDS: Final = 60
"""The longest time without progress while a client reads an answer."""


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, on a connection that is closed if its client takes too long.

    uvicorn itself limits only the time between an answer and the next request.
    """

    _receiving: object = None
    _received_by: asyncio.TimerHandle | None = None
    _read_by: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for the first header."""
        super().connection_made(transport)
        if len(self.connections) > ACCEPTED:
            transport.abort()
        else:
            self._wait_for_rest()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the request, if there is one."""
        super().data_received(data)
        self._wait_for_rest()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._read_by = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """End the wait: the client reads."""
        super().resume_writing()
        _cancel(self._read_by)

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waits."""
        super().connection_lost(exc)
        _cancel(self._read_by)
        _cancel(self._received_by)

    def _wait_for_rest(self) -> None:
        state: Any = self.conn.their_state
        if state is self._receiving:
            return
        self._receiving = state
        _cancel(self._received_by)
        if state in (h11.IDLE, h11.SEND_BODY):
            seconds = HEADER_SECONDS if state is h11.IDLE else BODY_SECONDS
            self._received_by = self.loop.call_later(seconds, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
