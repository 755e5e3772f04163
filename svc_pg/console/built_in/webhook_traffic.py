"""Routes of the traffic of webhooks: by time, by endpoint, and the backlog."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from svc_pg.console.built_in.webhook_resources import UNKNOWN_ENDPOINT, as_problems, refuse_others
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import one_of, text
from svc_pg.console.http.parameters import (
    FilterParameter,
    documented,
    filtered,
    one_among,
    point_in_time,
    refuse,
    whole_number,
)
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import PointInTime
from svc_pg.database.query import afetch_one
from svc_pg.formats.doc import Doc
from svc_pg.webhooks import traffic
from svc_pg.webhooks.field_docs import ENDPOINT_ID
from svc_pg.webhooks.traffic import backlog
from svc_pg.webhooks.traffic.backlog import Backlog, PendingCounts
from svc_pg.webhooks.traffic.traffic_queries import MOST_ENDPOINTS, MOST_HOURS, STEPS, EndpointActivity, Step, Traffic


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of the queue of deliveries."""

    waiting: Annotated[PendingCounts, Doc("The pending deliveries by the reason of their wait.")]
    backlog: Annotated[Backlog, Doc("The endpoints, and the age of due deliveries.")]


@dataclass(frozen=True, slots=True)
class _Period:
    by: Step = "hour"
    since: PointInTime | None = None
    until: PointInTime | None = None
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class _Activity:
    endpoints: Sequence[str] = ()
    hours: int = 24


_step: Final = one_among(STEPS)
_PERIOD: Final[dict[str, FilterParameter[_Period]]] = {
    "by": FilterParameter(
        lambda period, text: replace(period, by=_step(text)),
        "the length of a bucket",
        {**one_of(STEPS), "default": "hour"},
    ),
    "since": FilterParameter(
        lambda period, text: replace(period, since=point_in_time(text)),
        "the beginning: RFC 3339, or a duration before now; default: 1h by minute, 1d by hour, 7d by day",
        text("6h"),
    ),
    "until": FilterParameter(
        lambda period, text: replace(period, until=point_in_time(text)), "the end; default: now", text("1h")
    ),
    "endpointId": FilterParameter(
        lambda period, text: replace(period, endpoint=text),
        "only what was sent to one endpoint",
        {**text(ENDPOINT_ID.example), "format": "uuid"},
    ),
}
_ACTIVITY: Final[dict[str, FilterParameter[_Activity]]] = {
    "ids": FilterParameter(
        lambda wanted, text: replace(wanted, endpoints=text.split(",")),
        f"the ids of up to {MOST_ENDPOINTS} endpoints, with commas between them",
        text(ENDPOINT_ID.example),
        is_required=True,
    ),
    "hours": FilterParameter(
        lambda wanted, text: replace(wanted, hours=whole_number(text)),
        "how many hours back",
        {"type": "integer", "examples": [48], "minimum": 1, "maximum": MOST_HOURS, "default": 24},
    ),
}


@dataclass(frozen=True, slots=True)
class TrafficRoutes:
    """The handlers, and the object that they need."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/stats",
                operation_id="traffic.get",
                handler=self._traffic,
                is_compressed=True,
                serves_tenants=True,
                summary="What was sent, by minute, hour or day, and what became of it; exact, or with isEstimate",
                query=documented(_PERIOD),
                response=Traffic,
                errors={"invalid_value": 422, UNKNOWN_ENDPOINT: 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/backlog",
                operation_id="backlog.get",
                handler=self._backlog,
                summary="The pending deliveries, counted up to 10,000, and the age of the oldest that is due",
                response=QueueState,
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/activity",
                operation_id="endpoints.activity",
                handler=self._activity,
                is_compressed=True,
                serves_tenants=True,
                summary="What was sent to each of some endpoints, hour by hour",
                query=documented(_ACTIVITY),
                response=list[EndpointActivity],
                errors={"invalid_value": 422, UNKNOWN_ENDPOINT: 404},
            ),
        ]

    async def _traffic(self, request: AuthenticatedRequest) -> ConsoleResponse:
        period = filtered(_Period(), request.query, _PERIOD)
        if request.session.tenant is not None and period.endpoint is None:
            refuse("endpointId", "is needed")
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            async with self.database.connection() as conn:
                if period.endpoint is not None:
                    await refuse_others(conn, request.session, period.endpoint, unknown=UNKNOWN_ENDPOINT)
                found = await traffic.aread(
                    conn, by=period.by, since=period.since, until=period.until, endpoint=period.endpoint
                )
        return ConsoleResponse(200, found)

    async def _backlog(self, _request: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.connection() as conn:
            found = await backlog.aread(conn)
            return ConsoleResponse(200, QueueState(await afetch_one(conn, backlog.waiting()), found))

    async def _activity(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(_Activity(), request.query, _ACTIVITY)
        if not wanted.endpoints:
            refuse("ids", "is needed")
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            async with self.database.connection() as conn:
                await refuse_others(conn, request.session, *wanted.endpoints[:MOST_ENDPOINTS], unknown=UNKNOWN_ENDPOINT)
                found = await traffic.aof_endpoints(conn, wanted.endpoints, hours=wanted.hours)
        return ConsoleResponse(200, found)
