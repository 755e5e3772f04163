"""What the calls of a client share: the address, httpx, the token, the bounds."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Generic, TypeVar

import httpx

from svc_pg.client.attempts import Attempt, Bounds, Pace
from svc_pg.client.errors import CallError, ConnectionFailedError, UnexpectedAnswerError
from svc_pg.client.operations import Call
from svc_pg.client.problems import MOVED

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

CONNECT_TIMEOUT: Final = timedelta(seconds=5)

_SHORTEST: Final = 0.001
_ENCODINGS: Final = frozenset({"", "identity"})


class Bearer(httpx.Auth):
    """Adds a token to requests, and shows it nowhere."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Sign the request."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection(Generic[Http]):
    """The parts of a client. ``user_agent`` names the program to the server."""

    address: str
    http: Http
    bounds: Bounds
    pace: Pace
    auth: Bearer | None
    user_agent: str

    def request(self, attempt: Attempt) -> httpx.Request:
        """The request of an attempt, but for its token. Raises CallError."""
        if self.http.is_closed:
            raise CallError("the client is closed")
        call, seconds = attempt.call, min(self.bounds.timeout.total_seconds(), self.seconds_left(attempt))
        try:
            return self.http.build_request(
                call.method,
                self.address + call.target,
                content=call.body,
                headers={"Accept-Encoding": "identity", "User-Agent": self.user_agent, **call.headers},
                timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_TIMEOUT.total_seconds())),
            )
        except httpx.InvalidURL as error:  # all that this address can be: its characters are quoted
            raise CallError("the address of the call is too long", hint="Ask for fewer at a time.") from error

    def auth_of(self, attempt: Attempt) -> Bearer | None:
        """The token of an attempt; None if it needs none."""
        if attempt.call.token is not None:
            return Bearer(attempt.call.token)
        return self.auth if attempt.call.is_signed else None

    def seconds_left(self, attempt: Attempt) -> float:
        """The time until the answer is due."""
        return max(_SHORTEST, attempt.ends_at - self.pace.clock())

    def begin_stream(self, response: httpx.Response) -> None:
        """Bound the silence within a stream by ``timeout``, no longer by what was left of ``patience``."""
        response.request.extensions["timeout"]["read"] = self.bounds.timeout.total_seconds()

    def gather(self, body: bytearray, part: bytes, attempt: Attempt) -> None:
        """Add a part to a body. Raises UnexpectedAnswerError beyond the bound, and TimeoutError."""
        body += part
        if len(body) > self.bounds.max_bytes:
            raise UnexpectedAnswerError(
                f"the answer has more than {self.bounds.max_bytes:,} bytes",
                hint="Ask for smaller pages by limit, or for fewer fields, or give the client a higher max_bytes.",
            )
        if self.seconds_left(attempt) <= _SHORTEST:
            raise TimeoutError


@contextmanager
def sending() -> Iterator[None]:
    """Refuse a redirect to what is no address: httpx reads it, and follows none. Raises UnexpectedAnswerError."""
    try:
        yield
    except (httpx.InvalidURL, UnicodeError) as error:
        raise UnexpectedAnswerError("the server redirects to what is no address", hint=MOVED) from error


def refuse_unknown_encoding(response: httpx.Response) -> None:
    """Refuse a compressed answer, which was not asked for. Raises UnexpectedAnswerError.

    Some make gigabytes of a few bytes, or nothing of any number of bytes: no bound would hold.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise UnexpectedAnswerError(f"the answer has the encoding {encoding[:50]!r}, which was not asked for")


def refuse_html(response: httpx.Response) -> None:
    """Refuse a page in place of a stream, such as a proxy's sign-in. Raises UnexpectedAnswerError."""
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise UnexpectedAnswerError("the answer is a page of HTML", hint="Is a proxy between, or base_url wrong?")


@contextmanager
def whole(call: Call) -> Iterator[None]:
    """Tell that a stream was cut, in place of httpx's own error. Raises ConnectionFailedError."""
    try:
        yield
    except httpx.RequestError as error:
        message = f"{call.method} {call.target.partition('?')[0]}: the stream was cut before its end"
        raise ConnectionFailedError(message, hint="What came is right; what is missing is not known.") from error
