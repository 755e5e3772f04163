"""The route of a delivery's request: its URL, headers, body and signatures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from svc_pg.console.built_in.endpoint_urls import without_query
from svc_pg.console.built_in.webhook_resources import OF_DELIVERY, UNKNOWN_DELIVERY, rows_or_problem
from svc_pg.console.database.pool import Database
from svc_pg.console.http.products import ProductEndpoint, permits
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.webhooks.deliveries import delivery_request
from svc_pg.webhooks.deliveries.delivery_request import DeliveryPost
from svc_pg.webhooks.secrets import KeyRing


@dataclass(frozen=True, slots=True)
class DeliveryRequestRoutes:
    """The handler, and the objects that it needs. Without ``keys`` nothing is signed."""

    database: Database
    keys: KeyRing | None

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The route."""
        return [
            ProductEndpoint(
                method="GET",
                path="/deliveries/:id/request",
                operation_id="deliveries.request",
                path_parameters=OF_DELIVERY,
                handler=self._get,
                serves_tenants=True,
                summary="Its request as an attempt would make it now; with the permission write, signed",
                response=DeliveryPost,
                errors={UNKNOWN_DELIVERY: 404},
            )
        ]

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        [sealed] = await rows_or_problem(self.database, request, delivery_request.get, unknown=UNKNOWN_DELIVERY)
        may_sign = permits(request.session.permissions, "write")
        shown = delivery_request.delivery_post(sealed, keys=self.keys, is_signed=may_sign)
        if shown.url is not None and not may_sign:
            shown = replace(shown, url=without_query(shown.url))
        return ConsoleResponse(200, shown)
