"""Read and change the resources of the webhook routes, and turn errors of the library into problems.

Sessions of one tenant reach what belongs to it: ``refuse_foreign`` for one resource, ``restricted`` for lists.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from psycopg import AsyncConnection
from pydantic.alias_generators import to_camel

from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import in_path
from svc_pg.console.http.requests import AuthenticatedRequest, Problem, explained
from svc_pg.console.http.tokens import Session
from svc_pg.database.query import Query, afetch, afetch_one
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
from svc_pg.webhooks.field_docs import DELIVERY_ID, ENDPOINT_ID, MESSAGE_ID
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.tenant_checks import Own, own_delivery, own_endpoint, own_message

Row = TypeVar("Row")
Wanted = TypeVar("Wanted")

_STATUS_AND_CODE: Final[dict[type[SvcError], tuple[int, str]]] = {
    EndpointError: (422, "invalid_endpoint"),
    PayloadError: (422, "invalid_payload"),
    UnknownEventError: (422, "unknown_event"),
    QueryError: (422, "invalid_value"),
    ConflictError: (409, "conflict"),
}

OF_ENDPOINT: Final = (in_path(ENDPOINT_ID),)
OF_DELIVERY: Final = (in_path(DELIVERY_ID),)
OF_MESSAGE: Final = (in_path(MESSAGE_ID),)
"""The parameters of paths that name one of them."""

UNKNOWN_ENDPOINT: Final = "unknown_endpoint"
UNKNOWN_DELIVERY: Final = "unknown_delivery"
UNKNOWN_MESSAGE: Final = "unknown_message"
REFUSED_ENDPOINT: Final = {"invalid_endpoint": 422, "encryption_key_missing": 503}

_OWN: Final[Mapping[str, Callable[[str, str], Query[Own]]]] = {
    UNKNOWN_ENDPOINT: own_endpoint,
    UNKNOWN_DELIVERY: own_delivery,
    UNKNOWN_MESSAGE: own_message,
}


def restricted(wanted: Wanted, session: Session, of_tenant: Callable[[Wanted, str], Wanted]) -> Wanted:
    """A list for the session: of one tenant's rows if it is of one tenant."""
    return wanted if session.tenant is None else of_tenant(wanted, session.tenant)


async def refuse_foreign(conn: AsyncConnection[Any], request: AuthenticatedRequest, *, unknown: str) -> None:
    """Raise NotFoundError if the session is of one tenant, and the path names something that is not that tenant's.

    ``unknown`` tells the kind of it: the code of the problem if it does not exist.
    """
    await refuse_others(conn, request.session, request.params["id"], unknown=unknown)


async def refuse_others(conn: AsyncConnection[Any], session: Session, *ids: str, unknown: str) -> None:
    """As ``refuse_foreign``, for ids from elsewhere."""
    if session.tenant is not None:
        for each in ids:
            await afetch(conn, _OWN[unknown](each, session.tenant))


def tenant_for(session: Session, named: str | None) -> str | None:
    """The tenant of something new, which a session of one tenant need not name. Raises Problem if it names another."""
    if session.tenant is None:
        return named
    if named in (None, session.tenant):
        return session.tenant  # even an empty one: an endpoint without a tenant gets the messages of all
    raise Problem(404, "unknown_tenant", "There is no such tenant for this session.")


async def rows_or_problem(
    database: Database, request: AuthenticatedRequest, get: Callable[[str], Query[Row]], *, unknown: str
) -> list[Row]:
    """Read the resource that the path names. ``unknown`` is the code of the problem if it does not exist."""
    with as_problems(unknown=unknown):
        query = get(request.params["id"])
        async with database.connection() as conn:
            await refuse_foreign(conn, request, unknown=unknown)
            return await afetch(conn, query)


async def changed(
    database: Database, request: AuthenticatedRequest, change: Callable[[str], Query[Row]], *, unknown: str
) -> Row:
    """Change the resource that the path names, with the session as the actor; return its row. ``unknown`` as above."""
    with as_problems(unknown=unknown):
        query = change(request.params["id"])
        async with database.acting(request) as conn:
            await refuse_foreign(conn, request, unknown=unknown)
            return await afetch_one(conn, query)


def required(keys: KeyRing | None) -> KeyRing:
    """The keys that seal secrets. Raises EncryptionKeyError if the console has none."""
    if keys is None:
        raise EncryptionKeyError("SVC_ENCRYPTION_KEYS is not set")
    return keys


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
    detail = explained(error)
    if isinstance(error, EndpointError) and error.field is not None:
        named = [(each.field, explained(each)) for each in (error, *error.others)]
        errors = [{"pointer": f"/{to_camel(field)}", "detail": words} for field, words in named if field is not None]
        return Problem(status, code, detail, errors=errors)
    return Problem(status, code, detail)
