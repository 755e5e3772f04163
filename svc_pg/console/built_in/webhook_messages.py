"""Routes of webhook messages: the events that were sent."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Final

from svc_pg.console.built_in.webhook_resources import (
    OF_MESSAGE,
    UNKNOWN_MESSAGE,
    as_problems,
    refuse_foreign,
    restricted,
)
from svc_pg.console.database.pool import Database
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import Page
from svc_pg.database.query import afetch, afetch_one
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import Message, MessageDetail, MessageFilter, MessageQuery
from svc_pg.webhooks.payload_search import SearchKey, search_keys

_FILTERS: Final = {**declared(MessageFilter), **PAGE}


@dataclass(frozen=True, slots=True)
class MessageWithDeliveries(MessageDetail):
    """A message with its payload and its deliveries."""

    deliveries: Annotated[Sequence[Delivery], Doc("Its deliveries, the newest 100.")]


@dataclass(frozen=True, slots=True)
class MessageRoutes:
    """The handlers, and the object that they need."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/messages",
                operation_id="messages.list",
                handler=self._list,
                is_compressed=True,
                serves_tenants=True,
                summary="Messages, newest first",
                query=documented(_FILTERS),
                response=Page[Message],
            ),
            ProductEndpoint(
                method="GET",
                path="/search-keys",
                operation_id="messages.search_keys",
                handler=self._search_keys,
                is_compressed=True,
                serves_tenants=True,
                summary="The keys of payloads by which messages and deliveries are found",
                response=Page[SearchKey],
            ),
            ProductEndpoint(
                method="GET",
                path="/messages/:id",
                operation_id="messages.get",
                path_parameters=OF_MESSAGE,
                handler=self._get,
                is_compressed=True,
                serves_tenants=True,
                summary="One message, with its payload and its deliveries",
                response=MessageWithDeliveries,
                errors={UNKNOWN_MESSAGE: 404},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        own = restricted(message_queries.query(), request.session, MessageQuery.tenant)
        wanted = filtered(own, request.query, _FILTERS)
        with as_problems():
            async with self.database.connection() as conn:
                return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _search_keys(self, _: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.connection() as conn:
            return ConsoleResponse(200, Page(await afetch(conn, search_keys()), None))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with as_problems(unknown=UNKNOWN_MESSAGE):
            query = message_queries.get(request.params["id"])
            async with self.database.connection() as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_MESSAGE)
                message = await afetch_one(conn, query)
                of_message = delivery_queries.matching(message=message.id)
                deliveries = await restricted(of_message, request.session, DeliveryQuery.to_endpoints_of).alist(conn)
        return ConsoleResponse(200, MessageWithDeliveries(**asdict(message), deliveries=deliveries.data))
