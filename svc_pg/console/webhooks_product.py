"""The product ``webhooks``: see what was delivered, and what was not."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from psycopg import AsyncConnection

from svc_pg.console.parameters import filtered, moment, whole_number
from svc_pg.console.products import Product, ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.webhooks.deliveries import DeliveryQuery, query

_FILTERS: dict[str, Callable[[DeliveryQuery, str], DeliveryQuery]] = {
    "endpointId": DeliveryQuery.endpoint,
    "status": DeliveryQuery.status,
    "event": DeliveryQuery.event,
    "since": lambda builder, value: builder.since(moment(value)),
    "limit": lambda builder, value: builder.limit(whole_number(value)),
    "cursor": DeliveryQuery.after,
}


def webhooks_product(connection: Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]) -> Product:
    """The product, reading through connections that ``connection()`` opens."""

    async def deliveries(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(query(), request.query, _FILTERS)
        async with connection() as conn:
            page = await wanted.alist(conn)
        return ConsoleResponse(200, {"data": page.deliveries, "nextCursor": page.next_cursor})

    return Product(
        id="webhooks",
        name="Webhooks",
        endpoints=[ProductEndpoint(method="GET", path="/deliveries", handler=deliveries)],
    )
