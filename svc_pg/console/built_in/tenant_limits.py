"""The limits of endpoints that sessions of one tenant may set; an operator may exceed them."""

from dataclasses import dataclass
from typing import Any, Final, cast

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from svc_pg.console.http.quotas import PINGS, note_counted
from svc_pg.console.http.requests import AuthenticatedRequest, Problem, rate_limited
from svc_pg.console.http.tokens import Session
from svc_pg.database.query import Query, afetch_one
from svc_pg.webhooks.endpoints.endpoint_fields import Changes
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint

MOST_ENDPOINTS: Final = 50
MOST_IN_FLIGHT: Final = 8
LONGEST_SECONDS: Final = 15

# two at once may both find room for the last, which is no harm
_COUNT: Final = """
select count(*)::integer as endpoints from (select from svc.webhook_endpoints where tenant = %s limit 50) e
"""
_PINGS_OF: Final = "'pings of ' || %s::uuid"
_PINGED: Final = "select svc.console_hit(" + _PINGS_OF + ", %s, make_interval(secs => %s))"


@dataclass(frozen=True, slots=True)
class _Count:
    endpoints: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The most attempts of an endpoint at once, and the longest that one may take."""

    in_flight: int
    seconds: float


def limits_for(session: Session, before: Endpoint | None = None) -> Limits:
    """The limits of the session: a customer's if it is of one tenant, or the values ``before``."""
    if session.tenant is None:
        return Limits(1000, 60)
    if before is None:
        return Limits(MOST_IN_FLIGHT, LONGEST_SECONDS)
    seconds = max(LONGEST_SECONDS, before.timeout.total_seconds())
    return Limits(max(MOST_IN_FLIGHT, before.max_in_flight), seconds)


def refuse_excess(request: AuthenticatedRequest, wanted: Changes, before: Endpoint | None = None) -> None:
    """Raise Problem 422 if a session of one tenant wants more than the limits, and more than there was ``before``."""
    if request.session.tenant is None:
        return
    limits = limits_for(request.session, before)
    errors = []
    if wanted.get("max_in_flight", 0) > limits.in_flight:
        errors.append({"pointer": "/maxInFlight", "detail": f"at most {limits.in_flight}; ask the operator for more"})
    if "timeout" in wanted and wanted["timeout"].total_seconds() > limits.seconds:
        detail = f"at most {limits.seconds:g} seconds; ask the operator for more"
        errors.append({"pointer": "/timeout", "detail": detail})
    if errors:
        raise Problem(422, "invalid_body", "The body is not valid; see errors.", errors=errors)


def of_customer(request: AuthenticatedRequest, wanted: Changes, before: Endpoint | None = None) -> Changes:
    """The fields as the session may give them: the URL of a session of one tenant is a customer's, unless it stays.

    Raises Problem 403 if such a session says that the operator gave it.
    """
    if request.session.tenant is None:
        return wanted
    if wanted.get("url_by", "customer") != "customer":
        raise Problem(403, "not_for_tenants", "A URL that a session of one tenant gives is a customer's.")
    wanted = cast(Changes, {name: value for name, value in wanted.items() if name != "url_by"})
    if before is not None and wanted.get("url") == before.url:
        return cast(Changes, {name: value for name, value in wanted.items() if name != "url"})
    return {**wanted, "url_by": "customer"} if "url" in wanted else wanted


async def refuse_another(conn: AsyncConnection[Any], request: AuthenticatedRequest) -> None:
    """Raise Problem 409 if the session is of one tenant that has 50 endpoints."""
    tenant = request.session.tenant
    if tenant is not None and (await afetch_one(conn, Query(_COUNT, (tenant,), _Count))).endpoints >= MOST_ENDPOINTS:
        raise Problem(409, "too_many_endpoints", f"You have {MOST_ENDPOINTS} endpoints; delete one first.")


async def refuse_pings(conn: AsyncConnection[Any], request: AuthenticatedRequest) -> None:
    """Raise Problem 429 if the session is of one tenant, and this endpoint was pinged five times within a minute."""
    if request.session.tenant is not None:
        endpoint_id = request.params["id"]
        hit = (endpoint_id, PINGS.most, PINGS.seconds)
        retry_after: int | None = await (await conn.cursor(row_factory=scalar_row).execute(_PINGED, hit)).fetchone()
        if retry_after is not None:
            raise rate_limited(retry_after, PINGS)
        await note_counted(conn, PINGS, _PINGS_OF, endpoint_id)
