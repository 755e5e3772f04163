"""Request bodies of the webhook routes, reading and changing one resource, and answers to errors of the library."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Final, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, Field

from svc_pg.console.body import RequestBody
from svc_pg.console.database import Database
from svc_pg.console.parameters import point_in_time
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
from svc_pg.query import Query, afetch, afetch_one

Row = TypeVar("Row")

_STATUS_AND_CODE: Final[dict[type[SvcError], tuple[int, str]]] = {
    EndpointError: (422, "invalid_endpoint"),
    PayloadError: (422, "invalid_payload"),
    UnknownEventError: (422, "unknown_event"),
    QueryError: (422, "invalid_value"),
    ConflictError: (409, "conflict"),
}

ENDPOINT_EXAMPLE: Final = {"url": "https://example.com/hooks", "events": ["order.created"]}


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains the character NUL, which PostgreSQL cannot store")
    return text


def _readable_time(text: str) -> str:
    point_in_time(text)
    return text


Text = Annotated[str, Field(max_length=1000), AfterValidator(_without_nul)]
PointInTime = Annotated[str, AfterValidator(_readable_time)]


class NewEndpoint(RequestBody):
    """An endpoint to register."""

    url: str = Field(description="The address to POST to: https and public, unless the configuration allows others.")
    events: list[str] = Field(description='Names of events, "order.*" or "*".')
    description: str = Field(default="", description="A note for people.")
    tenant: str | None = Field(default=None, description="Only messages of this tenant.")
    headers: dict[str, str] = Field(default={}, description="Sent with every attempt; they cannot be read back.")
    max_in_flight: int = Field(default=8, ge=1, le=1000, description="Attempts under way at a time.")
    timeout: float = Field(default=15, ge=1, le=60, description="Seconds an attempt may take.")


class EndpointChanges(RequestBody):
    """Changes of an endpoint; fields that are left out stay."""

    url: str = Field(default_factory=str, description="Another origin loses the headers unless they are given too.")
    events: list[str] = Field(default_factory=list)
    description: str = Field(default_factory=str)
    headers: dict[str, str] = Field(default_factory=dict, description="Replace all headers; {} removes them.")
    max_in_flight: int = Field(default_factory=int, ge=1, le=1000)
    timeout: float = Field(default_factory=float, ge=1, le=60, description="Seconds.")


class Disabling(RequestBody):
    """The reason for disabling an endpoint."""

    reason: str = "disabled by hand"


class Rotation(RequestBody):
    """The seconds for which the previous secret signs too."""

    overlap: float = Field(default=86400, ge=0, le=30 * 86400)


class Recovery(RequestBody):
    """The deliveries of an endpoint to try again."""

    since: PointInTime | None = Field(
        default=None, description="Created from then on: RFC 3339, or a duration such as 1h."
    )
    dry_run: bool = Field(default=False, description="Only count them.")


class BulkRetry(Recovery):
    """The failed and canceled deliveries to try again; at least one filter."""

    endpoint_id: UUID | None = None
    event: Text | None = None
    status: Literal["failed", "canceled"] | None = None
    until: PointInTime | None = Field(default=None, description="Created before then.")


class NewEvent(RequestBody):
    """An event to send."""

    event: Text
    payload: object = Field(description="Any JSON; delivered as it was written.")
    tenant: Text | None = Field(default=None, description="Only its endpoints, and those without a tenant, get it.")
    delay: float = Field(default=0, ge=0, le=365 * 86400, description="Seconds to wait before the first attempt.")
    key: Text | None = Field(
        default=None, description="Numbers the messages of this key in the order of commits; at most 255 bytes."
    )


async def found(
    database: Database, request: AuthenticatedRequest, get: Callable[[str], Query[Row]], *, unknown: str
) -> list[Row]:
    """Read the resource that the path names. ``unknown`` is the code of the problem if it does not exist."""
    with as_problems(unknown=unknown):
        query = get(request.params["id"])
        async with database.connection() as conn:
            return await afetch(conn, query)


async def changed(
    database: Database, request: AuthenticatedRequest, change: Callable[[str], Query[Row]], *, unknown: str
) -> Row:
    """Change the resource that the path names, with the session as the actor; return its row. ``unknown`` as above."""
    with as_problems(unknown=unknown):
        query = change(request.params["id"])
        async with database.acting(request) as conn:
            return await afetch_one(conn, query)


@contextmanager
def as_problems(*, unknown: str | None = None) -> Iterator[None]:
    """Answer an error of the library with a problem document; NotFoundError with 404 and the code ``unknown``."""
    try:
        yield
    except NotFoundError as error:
        if unknown is None:
            raise
        raise _problem(404, unknown, error) from error
    except EncryptionKeyError as error:
        raise Problem(503, "encryption_key_missing", "SVC_ENCRYPTION_KEYS is not set for the console.") from error
    except tuple(_STATUS_AND_CODE) as error:
        status, code = _STATUS_AND_CODE[type(error)]
        raise _problem(status, code, error) from error


def _problem(status: int, code: str, error: SvcError) -> Problem:
    return Problem(status, code, f"{error.message}. {error.hint}" if error.hint else f"{error.message}.")
