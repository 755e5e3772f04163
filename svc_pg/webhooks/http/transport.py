"""The interface to an HTTP client: a request to a receiver, its result, and the client between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Protocol

from svc_pg.webhooks.http.guard import check_header

_Counted = Literal["success", "http_error", "timeout", "connect_error", "tls_error", "dns_error", "blocked"]

Outcome = Literal[_Counted, "local_error"]
"""The end of an attempt, as its worker reports it; ``local_error`` if this machine was at fault: it does not count."""

RecordedOutcome = Literal[_Counted, "lost"]
"""The end of an attempt, as the table has it; ``lost`` if the worker did not report one."""


@dataclass(frozen=True)
class Request:
    """One POST. Raises EndpointError if a header could change the request that it is part of."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    timeout: timedelta = timedelta(seconds=15)
    connect_timeout: timedelta = timedelta(seconds=5)

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            check_header(name, value)


@dataclass(frozen=True)
class Result:
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
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    truncated: bool = False
    repeated: bool = False
    error: str | None = None


class Transport(Protocol):
    """The HTTP client that the worker needs."""

    async def send(self, request: Request) -> Result:
        """Post the request. Nothing that a receiver does makes this raise, or outlast the request's timeout."""

    async def close(self) -> None:
        """Close every connection."""
