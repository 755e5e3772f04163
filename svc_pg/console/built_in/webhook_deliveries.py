"""Routes of webhook deliveries: read, retry, cancel."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from svc_pg.console.built_in.webhook_resources import (
    OF_DELIVERY,
    UNKNOWN_DELIVERY,
    as_problems,
    changed,
    refuse_foreign,
    restricted,
    rows_or_problem,
)
from svc_pg.console.database.pool import Database
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, FilterParameter, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import Filter, Keyset, Listing, Page, decode
from svc_pg.webhooks.deliveries import delivery_queries, delivery_reasons
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_reasons import DeliveryReason
from svc_pg.webhooks.deliveries.delivery_rows import Delivery, DeliveryAttempt, DeliveryDetail
from svc_pg.webhooks.ids import delivery_key

_FILTERS: Final[dict[str, FilterParameter[Any]]] = {**declared(DeliveryFilter), **PAGE}


@dataclass(frozen=True, slots=True)
class DeliveryRoutes:
    """The handlers, and the objects that they need."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/deliveries",
                operation_id="deliveries.list",
                handler=self._list,
                is_compressed=True,
                serves_tenants=True,
                summary="Deliveries, newest first",
                query=documented(_FILTERS),
                response=Page[Delivery],
            ),
            ProductEndpoint(
                method="GET",
                path="/deliveries/:id",
                operation_id="deliveries.get",
                path_parameters=OF_DELIVERY,
                handler=self._get,
                serves_tenants=True,
                summary="One delivery, with its payload",
                response=DeliveryDetail,
                errors={UNKNOWN_DELIVERY: 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/deliveries/:id/attempts",
                operation_id="deliveries.attempts",
                path_parameters=OF_DELIVERY,
                handler=self._attempts,
                is_compressed=True,
                serves_tenants=True,
                summary="Its attempts, oldest first",
                query=documented(PAGE),
                response=Page[DeliveryAttempt],
                errors={UNKNOWN_DELIVERY: 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/deliveries/:id/why",
                operation_id="deliveries.why",
                path_parameters=OF_DELIVERY,
                handler=self._why,
                serves_tenants=True,
                summary="The reasons for which it waits, or how it has ended",
                response=list[DeliveryReason],
                errors={UNKNOWN_DELIVERY: 404},
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/:id/retry",
                operation_id="deliveries.retry",
                path_parameters=OF_DELIVERY,
                handler=self._retry,
                required_permission="write",
                serves_tenants=True,
                summary="Make a failed or canceled delivery due now",
                response=Delivery,
                errors={UNKNOWN_DELIVERY: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/:id/cancel",
                operation_id="deliveries.cancel",
                path_parameters=OF_DELIVERY,
                handler=self._cancel,
                required_permission="write",
                serves_tenants=True,
                summary="Cancel a pending delivery",
                response=Delivery,
                errors={UNKNOWN_DELIVERY: 404, "conflict": 409},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        own = restricted(delivery_queries.query(), request.session, DeliveryQuery.to_endpoints_of)
        wanted = filtered(own, request.query, _FILTERS)
        with as_problems():
            async with self.database.connection() as conn:
                return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        [delivery] = await rows_or_problem(self.database, request, delivery_queries.get, unknown=UNKNOWN_DELIVERY)
        return ConsoleResponse(200, delivery)

    async def _attempts(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with as_problems(unknown=UNKNOWN_DELIVERY):
            wanted = filtered(_attempts_of(request.params["id"]), request.query, PAGE)
            async with self.database.connection() as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_DELIVERY)
                page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        if request.session.tenant is not None:  # whose business the operator's machines are not
            page = replace(page, data=[replace(attempt, worker=None) for attempt in page])
        return ConsoleResponse(200, page)

    async def _why(self, request: AuthenticatedRequest) -> ConsoleResponse:
        why = partial(delivery_reasons.why, names_workers=request.session.tenant is None)
        return ConsoleResponse(200, await rows_or_problem(self.database, request, why, unknown=UNKNOWN_DELIVERY))

    async def _retry(self, request: AuthenticatedRequest) -> ConsoleResponse:
        delivery = await changed(self.database, request, delivery_queries.retry, unknown=UNKNOWN_DELIVERY)
        return ConsoleResponse(200, delivery)

    async def _cancel(self, request: AuthenticatedRequest) -> ConsoleResponse:
        delivery = await changed(self.database, request, delivery_queries.cancel, unknown=UNKNOWN_DELIVERY)
        return ConsoleResponse(200, delivery)


def _attempts_of(delivery_id: str) -> Listing[DeliveryAttempt]:
    attempts = delivery_queries.attempts(delivery_id)
    oldest_first = Keyset(
        select="select * from (" + attempts.text + ") a",  # noqa: S608 - constants
        row=DeliveryAttempt,
        order=" order by a.id::bigint",
        beyond="a.id::bigint > %s",
        reverse_order=" order by a.id::bigint desc",
        before="a.id::bigint < %s",
        key=lambda attempt: (attempt.id,),
        read=lambda cursor: decode(cursor, int),
    )
    return Listing(oldest_first, Filter(params=(delivery_key(delivery_id),)))
