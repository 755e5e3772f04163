"""What the routes of webhooks take, how they read and change one thing, and how errors of the library answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Literal, TypeVar

from pydantic import Field

from svc_pg.console.body import RequestBody
from svc_pg.console.database import Database
from svc_pg.console.parameters import moment
from svc_pg.console.requests import AuthenticatedRequest, Problem
from svc_pg.errors import (
    ConflictError,
    EncryptionKeyError,
    EndpointError,
    NotFoundError,
    PayloadError,
    QueryError,
    SvcError,
    UnknownEventError,
)
from svc_pg.query import Query, afetch

Row = TypeVar("Row")

_STATUS_AND_CODE: Final[dict[type[SvcError], tuple[int, str]]] = {
    EndpointError: (422, "invalid_endpoint"),
    PayloadError: (422, "invalid_payload"),
    UnknownEventError: (422, "unknown_event"),
    QueryError: (422, "invalid_value"),
    NotFoundError: (404, "not_found"),
    ConflictError: (409, "conflict"),
}

EVENTS_EXAMPLE: Final = {"url": "https://example.com/hooks", "events": ["order.created"]}


class NewEndpoint(RequestBody):
    """An endpoint to register."""

    url: str = Field(description="Where to POST; https, and a public address, unless the configuration allows others.")
    events: list[str] = Field(description='Names of events, "order.*" or "*".')
    description: str = Field(default="", description="A note for people.")
    tenant: str | None = Field(default=None, description="Only messages of this tenant.")
    headers: dict[str, str] = Field(default={}, description="Sent with every attempt; they cannot be read back.")
    max_in_flight: int = Field(default=8, ge=1, le=1000, description="Attempts under way at a time.")
    timeout: float = Field(default=15, ge=1, le=60, description="Seconds an attempt may take.")


class EndpointChanges(RequestBody):
    """What to change about an endpoint; what is left out stays."""

    url: str = Field(default_factory=str, description="Another origin loses the headers unless they are given too.")
    events: list[str] = Field(default_factory=list)
    description: str = Field(default_factory=str)
    headers: dict[str, str] = Field(default_factory=dict, description="Replace all that there were; {} removes them.")
    max_in_flight: int = Field(default_factory=int, ge=1, le=1000)
    timeout: float = Field(default_factory=float, ge=1, le=60, description="Seconds.")


class Disabling(RequestBody):
    """Why an endpoint is disabled."""

    reason: str = "disabled by hand"


class Rotation(RequestBody):
    """For how many seconds the secret before signs too."""

    overlap: float = Field(default=86400, ge=0, le=30 * 86400)


class Recovery(RequestBody):
    """Which deliveries of an endpoint to try again."""

    since: str | None = Field(default=None, description="Created from then on: RFC 3339, or a duration such as 1h.")
    dry_run: bool = Field(default=False, description="Only count them.")


class BulkRetry(Recovery):
    """Which failed and canceled deliveries to try again; at least one filter."""

    endpoint_id: str | None = None
    event: str | None = None
    status: Literal["failed", "canceled"] | None = None
    until: str | None = Field(default=None, description="Created before then.")


class NewEvent(RequestBody):
    """An event to send."""

    event: str
    payload: object = Field(description="Any JSON; delivered as it was written.")
    tenant: str | None = None
    delay: float = Field(default=0, ge=0, le=365 * 86400, description="Seconds to wait before the first attempt.")


def since_when(text: str | None) -> str | datetime | None:
    """A moment, or what the query reads as a duration. Raises Problem 422."""
    try:
        return None if text is None else moment(text)
    except ValueError as error:
        raise Problem(422, "invalid_value", f"since is not acceptable: {error}.") from error


async def found(database: Database, request: AuthenticatedRequest, get: Callable[[str], Query[Row]]) -> list[Row]:
    """Read what the path names."""
    with as_problems():
        query = get(request.params["id"])
        async with database.connection() as conn:
            return await afetch(conn, query)


async def changed(database: Database, request: AuthenticatedRequest, change: Callable[[str], Query[Row]]) -> Row:
    """Change what the path names, as the session's own deed; the row as it is then."""
    with as_problems():
        query = change(request.params["id"])
        async with database.acting(request) as conn:
            [row] = await afetch(conn, query)
    return row


@contextmanager
def as_problems() -> Iterator[None]:
    """Answer an error of the library with a problem document."""
    try:
        yield
    except EncryptionKeyError as error:
        raise Problem(503, "encryption_key_missing", "SVC_ENCRYPTION_KEYS cannot seal or open secrets.") from error
    except tuple(_STATUS_AND_CODE) as error:
        status, code = _STATUS_AND_CODE[type(error)]
        raise Problem(status, code, f"{error.message}. {error.hint}" if error.hint else f"{error.message}.") from error
