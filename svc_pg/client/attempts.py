"""Make a call in a few attempts, without I/O: a generator yields each attempt and each wait, and receives the answer.

A call is repeated only if that cannot make anything twice: it only reads, it has an ``Idempotency-Key``, the server
cannot have received it, or the server refused to begin it (429). A 503 may come after the change: of a commit whose
answer was lost, the server does not know the end.
"""

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

import httpx

from svc_pg.client.errors import ApiError, ClientError, ConnectionFailedError
from svc_pg.client.operations import Call
from svc_pg.client.problems import problem_of, retry_after
from svc_pg.database.effects import Effects

MAX_ATTEMPTS: Final = 3
MAX_BYTES: Final = 32 * 1024 * 1024

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 8.0
_NOT_RECEIVED: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_NEVER: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
_PASSING: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
_MAY_BE_MADE: Final = "The server may have done it: look before you call again."
_NONE_LEFT: Final = re.compile(r'"calls"\s*;\s*r=0\s*;\s*t=(\d{1,6})\b')


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of a call: the silence within an attempt, all attempts and waits together, and the answer."""

    timeout: timedelta
    patience: timedelta
    max_attempts: int
    max_bytes: int


@dataclass(slots=True)
class Pace:
    """The time before which the server will refuse calls, as its last answers say; shared by the calls of a client."""

    clock: Callable[[], float] = time.monotonic
    until: float = 0.0

    def note(self, headers: Mapping[str, str]) -> None:
        """Wait until the window of ``RateLimit`` ends if no calls are left in it; other limits are narrower."""
        if found := _NONE_LEFT.search(headers.get("ratelimit", "")):
            self.until = max(self.until, self.clock() + int(found[1]))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to send; its whole answer is due at ``ends_at``, of the clock of ``Pace``."""

    call: Call
    ends_at: float


@dataclass(frozen=True, slots=True)
class Received:
    """An answer. ``body`` is empty if the answer is a stream, whose ``response`` is open."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    response: Any = field(default=None, repr=False)


def attempts(call: Call, bounds: Bounds, pace: Pace) -> Effects[Received]:
    """Yield an ``Attempt`` for each request, a timedelta for each wait, and return the answer. Raises ClientError."""
    ends_at = pace.clock() + bounds.patience.total_seconds()
    number = 0
    wait: float | None
    while True:
        number += 1
        if 0 < (rest := pace.until - pace.clock()) < ends_at - pace.clock():
            yield timedelta(seconds=rest)
        try:
            received: Received = yield Attempt(call, ends_at)
        except (httpx.RequestError, TimeoutError) as error:
            failure, wait = _not_answered(call, error), _backoff(number)
            failure.__cause__ = error
        else:
            pace.note(received.headers)
            if httpx.codes.is_success(received.status):
                return received
            failure, wait = _problem(call, received), _asked(received, number)
        if wait is None or number >= bounds.max_attempts or not _may_repeat(call, failure):
            raise failure
        wait = max(wait, pace.until - pace.clock())
        if wait > ends_at - pace.clock():
            raise failure
        yield timedelta(seconds=wait)


def _problem(call: Call, received: Received) -> ClientError:
    hint = None if call.method == "GET" or received.status < HTTPStatus.INTERNAL_SERVER_ERROR else _MAY_BE_MADE
    return problem_of(received.status, received.headers, received.body, hint=hint)


def _not_answered(call: Call, error: Exception) -> ClientError:
    reason = "no answer in time" if isinstance(error, TimeoutError | httpx.TimeoutException) else str(error)
    message = f"{call.method} {call.target.partition('?')[0]}: {reason or type(error).__name__}"
    if isinstance(error, _NOT_RECEIVED):
        return ConnectionFailedError(message, hint="Is base_url right, and is the server up?")
    return ConnectionFailedError(message, hint=None if call.method == "GET" else _MAY_BE_MADE)


def _may_repeat(call: Call, failure: ClientError) -> bool:
    if isinstance(failure, ApiError):
        if failure.status == HTTPStatus.TOO_MANY_REQUESTS:  # with a code it is of the server, before it begins
            return failure.retry_after is not None and (call.is_repeatable or bool(failure.code))
        return call.is_repeatable
    if isinstance(failure, ConnectionFailedError) and not isinstance(failure.__cause__, _NEVER):
        return call.is_repeatable or isinstance(failure.__cause__, _NOT_RECEIVED)
    return False


def _asked(received: Received, number: int) -> float | None:
    """The seconds until the next attempt; None if the answer is none of those that pass."""
    if received.status not in {*_PASSING, HTTPStatus.TOO_MANY_REQUESTS}:
        return None
    return max(retry_after(received.headers) or 0.0, _backoff(number))


def _backoff(number: int) -> float:
    """Twice as long each time, and spread, so that clients that failed together do not come back together."""
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(number - 1, 10))
    return longest * (0.5 + 0.5 * random.random())  # noqa: S311 - no secret
