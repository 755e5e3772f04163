"""The interface to an HTTP client: a request to a receiver, its result, and the client between them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, Protocol

from svc_pg.webhooks.http.guard import UrlBy, check_headers
from svc_pg.webhooks.http.tls import Tls

_Counted = Literal["success", "http_error", "timeout", "connect_error", "tls_error", "dns_error", "blocked"]

Outcome = Literal[_Counted, "local_error"]
"""The end of an attempt, as its worker reports it; ``local_error`` if this machine was at fault: not counted."""

RecordedOutcome = Literal[_Counted, "lost"]
"""The end of an attempt, as the table has it; ``lost`` if the worker did not report one."""

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Destination:
    """A URL, and the common options of all requests to it; the transport prepares it once.

    Connections use the authorities and the certificate of ``tls``, and go only to addresses allowed for ``url_by``;
    they are shared only by destinations that agree in both. Raises EndpointError if a header could change a request
    that it is part of. The transport refuses a URL that is not allowed.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # credentials, often
    timeout: timedelta = timedelta(seconds=15)
    connect_timeout: timedelta = timedelta(seconds=5)
    tls: Tls | None = None
    url_by: UrlBy = "operator"

    def __post_init__(self) -> None:
        check_headers(self.headers)


class Request(NamedTuple):
    """One POST. ``headers`` are those of this request alone; the transport refuses those that could change it."""

    destination: Destination
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS


class Result(NamedTuple):
    """The result of a request. Its texts are bounded, and PostgreSQL can store them.

    ``status`` is None if no complete response header came; it is set even if the body then broke off. ``truncated``
    says that the response was longer than ``body``, and ``repeated`` that the request was sent twice, because the
    receiver closed the pooled connection of the first. ``error`` is for people.
    """

    outcome: Outcome
    status: int | None = None
    duration_ms: int = 0
    remote_ip: str | None = None
    retry_after: timedelta | None = None
    headers: Mapping[str, str] = _NO_HEADERS
    body: str = ""
    truncated: bool = False
    repeated: bool = False
    error: str | None = None


Done = Callable[[Result], None]


class Transport(Protocol):
    """The HTTP client that the worker needs. Use it in one event loop."""

    def start(self, request: Request, done: Done) -> None:
        """Post the request, and call ``done`` once with its result.

        No receiver can make this raise, or outlast the request's timeout by more than the check of this machine's
        resolver. ``done`` is never called before this returns, nor after ``close``.
        """

    async def close(self) -> None:
        """Break off the requests under way and close every connection."""
