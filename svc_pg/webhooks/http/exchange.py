"""One POST over HTTP/1.1, from its start to its result."""

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Protocol

from svc_pg.webhooks.http import hang_ups
from svc_pg.webhooks.http.connection import Connection
from svc_pg.webhooks.http.local_faults import local_fault
from svc_pg.webhooks.http.pool import Pool
from svc_pg.webhooks.http.proxy import NO_CREDENTIALS, refusal
from svc_pg.webhooks.http.response import kept_body, kept_headers, parse_retry_after, retry_after_of
from svc_pg.webhooks.http.response_reader import BrokenResponse, ResponseReader
from svc_pg.webhooks.http.route import Route
from svc_pg.webhooks.http.transport import Done, Outcome, Request, Result

_log = logging.getLogger(__name__)

_REMEMBERED: Final = 256  # responses: most of a receiver's have the same headers within one second
_LONGEST_REMEMBERED: Final = 2048  # bytes

_NOT_HTTP: Final = "the response is not HTTP, or its headers are too many or too large"
_NOT_HTTP_ANY_MORE: Final = "the rest of the response is not HTTP, or too large"


class Owner(Protocol):
    """The transport that an exchange belongs to."""

    pool: Pool

    def connect(self, exchange: "Exchange") -> None:
        """Open a connection and post the exchange over it."""

    def end(self, exchange: "Exchange", result: Result) -> None:
        """Pass on the result."""


class Exchange:
    """A request, its connection while it has one, and the time that it may take."""

    __slots__ = (
        *("_connection", "_data", "_deadline", "_loop", "_owner", "_started"),
        *("done", "is_repeated", "request", "route"),
    )

    def __init__(self, request: Request, done: Done, owner: Owner, loop: asyncio.AbstractEventLoop) -> None:
        self.request = request
        self.done = done
        self.is_repeated = False
        self._owner = owner
        self._loop = loop
        self._connection: Connection | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._started = 0.0

    def begin(self, route: Route) -> None:
        """Post the request over an idle connection or a new one. Raises EndpointError, with nothing begun."""
        self._started = time.monotonic()
        self.route = route
        self._data = route.write(self.request)
        connection = self._owner.pool.take(route.site)
        if connection is None:
            self._owner.connect(self)
        else:
            self.post(connection)

    def post(self, connection: Connection) -> None:
        """Post the request over this connection."""
        self._connection = connection
        self._deadline = self._loop.call_later(self.remaining, self._expire, connection)
        connection.post(self, self._data)

    @property
    def remaining(self) -> float:
        """Seconds until the deadline."""
        return max(self._started + self.route.timeout - time.monotonic(), 0.0)

    @property
    def late(self) -> str:
        """The error of a request that has met its deadline."""
        return f"no complete response within {self.route.timeout:g} s"

    def answered(self, connection: Connection) -> None:
        """As the connection's exchange."""
        self._finish(connection)

    def broke(self, connection: Connection, error: Exception | None) -> None:
        """As the connection's exchange."""
        has_status = connection.reader.status is not None
        if isinstance(error, BrokenResponse):
            if has_status:
                self._finish(connection, "connect_error", _NOT_HTTP_ANY_MORE)
            else:
                self._finish(connection, "http_error", _NOT_HTTP)
        elif error is not None and (fault := local_fault(error)):
            self._finish(connection, "local_error", fault)
        elif connection.uses > 1 and not connection.reader.size:
            self._repeat(connection)
        elif isinstance(error, ssl.SSLError) and not has_status:
            self._finish(connection, "tls_error", f"the receiver ended the TLS connection: {error.strerror or error}")
        elif connection.site.is_tls and not connection.reader.size:
            self._finish(connection, "connect_error", hang_ups.without_answer(connection.site.tls))
        else:
            self._finish(connection, "connect_error", hang_ups.LOST)

    def fail(self, outcome: Outcome, error: str, remote_ip: str | None = None) -> None:
        """End it without a connection."""
        if outcome == "local_error":
            self._owner.pool.clear()  # to have their files
        self._owner.end(
            self,
            Result(
                outcome,
                duration_ms=self._duration_ms(),
                remote_ip=remote_ip and remote_ip.partition("%")[0],
                repeated=self.is_repeated,
                error=error,
            ),
        )

    def cancel(self) -> None:
        """Break it off; it has no result."""
        if self._deadline is not None:
            self._deadline.cancel()
        if self._connection is not None:
            self._connection.abort()

    def _repeat(self, connection: Connection) -> None:
        """Post once more, on a new connection.

        The receiver may close an idle connection just when it is used again. That is no failure, and a repeat is safe:
        receivers know a delivery by its id.
        """
        self.cancel()
        self._connection, self.is_repeated = None, True
        self._owner.pool.forget(connection.site)
        self._owner.connect(self)

    def _expire(self, connection: Connection) -> None:
        if rest := self.remaining:  # timers of uvloop may be a millisecond early
            self._deadline = self._loop.call_later(rest, self._expire, connection)
        else:
            self._finish(connection, "timeout", self.late)

    def _finish(self, connection: Connection, outcome: Outcome | None = None, error: str | None = None) -> None:
        """End it with this outcome, or, if the response is complete, with the outcome of its status."""
        is_complete = outcome is None
        try:
            if connection.reader.status == NO_CREDENTIALS and self.route.is_answered_by_proxy:
                outcome, error = "local_error", refusal(NO_CREDENTIALS)
            elif outcome is None:
                outcome, error = _judgement(connection.reader.status or 0)
            result = self._result(outcome, error, connection)
        except Exception:  # noqa: BLE001 - a bug must not lose the request
            _log.exception("a response cannot be kept")
            result = Result("connect_error", error="svc-pg cannot keep the response; see its log")
        self._connection = None
        if self._deadline is not None:
            self._deadline.cancel()
        if is_complete and connection.reader.is_reusable:
            self._owner.pool.keep(connection)
        else:
            connection.abort()
        if outcome == "local_error":
            self._owner.pool.clear()
        self._owner.end(self, result)

    def _result(self, outcome: Outcome, error: str | None, connection: Connection) -> Result:
        reader = connection.reader
        duration_ms, ip = self._duration_ms(), connection.remote_ip
        if reader.status is None or outcome == "local_error":
            return Result(outcome, None, duration_ms, ip, repeated=self.is_repeated, error=error)
        headers, retry_after = _headers(reader)
        body, truncated = kept_body(reader.body)
        return Result(
            outcome,
            reader.status,
            duration_ms,
            ip,
            None if retry_after is None else parse_retry_after(retry_after),
            headers,
            body,
            truncated,
            self.is_repeated,
            error,
        )

    def _duration_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


def _judgement(status: int) -> tuple[Outcome, str | None]:
    """The outcome and error of a complete response."""
    if 200 <= status < 300:
        return "success", None
    advice = "; redirects are not followed" if 300 <= status < 400 else ""
    return "http_error", f"the endpoint answered {status}{advice}"


def _headers(reader: ResponseReader) -> tuple[Mapping[str, str], str | None]:
    """The kept headers, and Retry-After, which counts even if it is not among them."""
    if reader.size > _LONGEST_REMEMBERED:
        return kept_headers(reader.fields), retry_after_of(reader.fields)
    return _remembered_headers(tuple(reader.fields))


@lru_cache(maxsize=_REMEMBERED)
def _remembered_headers(fields: tuple[tuple[bytes, bytes], ...]) -> tuple[Mapping[str, str], str | None]:
    return MappingProxyType(kept_headers(fields)), retry_after_of(fields)
