"""Routes of many deliveries at once: count them by state, try them again, cancel them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from psycopg import AsyncConnection
from psycopg.errors import QueryCanceled

from svc_pg.console.built_in.webhook_bodies import ChangeDeliveriesRequest, DryRun, chosen
from svc_pg.console.built_in.webhook_resources import as_problems, restricted
from svc_pg.console.database.pool import STATEMENT_TIMEOUT_SECONDS, Database
from svc_pg.console.http.body import read_body
from svc_pg.console.http.parameters import declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.database.effects import Effects
from svc_pg.database.filters import applied
from svc_pg.database.performing import arun
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_rows import STATUSES, BulkResult, DeliveryCount, Status

_FILTERS: Final = declared(DeliveryFilter, without=["status"])  # each state is counted
_MOST: Final = 2_000
"""The deliveries that are counted in a state."""
_MOST_LED: Final = 1_500
"""Those that are looked at for all states if messages lead to them."""
_MOST_OF_TENANT: Final = 500
"""Those in a state if each leads to its message, which tells the tenant."""
_MOST_MILLISECONDS: Final = 250
Counted = TypeVar("Counted")

_TIMEOUT: Final = "select set_config('statement_timeout', %s, true)"


@dataclass(frozen=True, slots=True)
class StatusCount:
    """The number of deliveries in one state."""

    status: Annotated[Status, Doc("The state.")]
    count: Annotated[int | None, Doc("The number of deliveries in it; null if it is too dear to count.", 240)]
    is_complete: Annotated[bool, Doc("True if there are no more than that.")]


@dataclass(frozen=True, slots=True)
class BulkRoutes:
    """The handlers, and the object that they need."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/deliveries/counts",
                operation_id="deliveries.counts",
                handler=self._counts,
                serves_tenants=True,
                summary="The number of deliveries in each state, counted up to 2,000, of one tenant to 500",
                query=documented(_FILTERS),
                response=list[StatusCount],
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/retry",
                operation_id="deliveries.retry_many",
                handler=self._retry,
                required_permission="write",
                serves_tenants=True,
                summary="Try the matching failed and canceled deliveries again, 10,000 at a time",
                body=ChangeDeliveriesRequest,
                body_example={"event": "order.created", "since": "1d", "dryRun": True},
                response=BulkResult,
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/cancel",
                operation_id="deliveries.cancel_many",
                handler=self._cancel,
                required_permission="write",
                serves_tenants=True,
                summary="Cancel the matching deliveries that wait, 10,000 at a time",
                body=ChangeDeliveriesRequest,
                body_example={"tenant": "acme", "dryRun": True},
                response=BulkResult,
            ),
        ]

    async def _counts(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(_own(request, delivery_queries.query()), request.query, _FILTERS)
        with as_problems():
            async with self.database.connection() as conn:
                return ConsoleResponse(200, await counts(conn, wanted))

    async def _retry(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, ChangeDeliveriesRequest)
        wanted = _matching(request, body)
        return await self._changed(request, wanted.retry(dry_run=body.dry_run))

    async def _cancel(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, ChangeDeliveriesRequest)
        wanted = _matching(request, body)
        return await self._changed(request, wanted.cancel(dry_run=body.dry_run))

    async def _changed(self, request: AuthenticatedRequest, change: Effects[BulkResult]) -> ConsoleResponse:
        with as_problems():
            async with self.database.acting(request) as conn:
                changed = await arun(conn, change)
        return ConsoleResponse(200, changed)


def _own(request: AuthenticatedRequest, wanted: DeliveryQuery) -> DeliveryQuery:
    return restricted(wanted, request.session, DeliveryQuery.to_endpoints_of)


async def counts(conn: AsyncConnection[Any], wanted: DeliveryQuery) -> Sequence[StatusCount]:
    """The number of deliveries in each state: each within a quarter of a second, or all together."""
    if wanted.is_led:  # by messages, of which each is looked up once for all states
        found = await _in_time(conn, wanted.counts(looked_at=_MOST_LED)) or {}
        return [_count(status, found.get(status)) for status in STATUSES]
    most, looked_at = (_MOST, _MOST * 5 // 4) if wanted.of_tenant is None else (_MOST_OF_TENANT, _MOST_OF_TENANT)
    if wanted.of_own_endpoints is not None:  # whose messages are looked up after all other conditions
        looked_at = 3 * _MOST_OF_TENANT
    counting = {status: wanted.count(status=status, most=most, looked_at=looked_at) for status in STATUSES}
    return [_count(status, await _in_time(conn, each)) for status, each in counting.items()]


async def _in_time(conn: AsyncConnection[Any], counting: Effects[Counted]) -> Counted | None:
    try:
        async with conn.transaction():
            await conn.execute(_TIMEOUT, [f"{_MOST_MILLISECONDS}ms"])
            found = await arun(conn, counting)
    except QueryCanceled:
        return None
    await conn.execute(_TIMEOUT, [f"{STATEMENT_TIMEOUT_SECONDS}s"])
    return found


def _count(status: Status, found: DeliveryCount | None) -> StatusCount:
    if found is None:
        return StatusCount(status, None, is_complete=False)
    return StatusCount(status, found.count, found.is_complete)


def _matching(request: AuthenticatedRequest, body: DryRun) -> DeliveryQuery:
    given = chosen(DeliveryFilter, body)
    if not given:
        raise Problem(422, "invalid_body", "Give ids, or at least one filter.")
    with as_problems():
        return _own(request, applied(delivery_queries.query(), DeliveryFilter, given))
