"""Routes of webhook messages: the events that were sent."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from svc_pg.console.built_in.webhook_filters import MESSAGE_FILTERS
from svc_pg.console.built_in.webhook_requests import as_problems
from svc_pg.console.database import Database
from svc_pg.console.parameters import PAGE, PAGE_BYTES, documented, filtered
from svc_pg.console.products import ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.pagination import Page
from svc_pg.query import afetch_one
from svc_pg.webhooks import delivery_queries, message_queries
from svc_pg.webhooks.delivery_rows import Delivery
from svc_pg.webhooks.message_queries import Message, MessageDetail

_FILTERS: Final = {**MESSAGE_FILTERS, **PAGE}
_UNKNOWN: Final = "unknown_message"


@dataclass(frozen=True, slots=True)
class WholeMessage(MessageDetail):
    """A message with its payload as it was sent, and its deliveries, the newest 100."""

    deliveries: Sequence[Delivery]


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
                handler=self._list,
                summary="Messages, newest first",
                query=documented(_FILTERS),
                response=Page[Message],
            ),
            ProductEndpoint(
                method="GET",
                path="/messages/:id",
                handler=self._get,
                summary="One message, with its payload and its deliveries",
                response=WholeMessage,
                errors={_UNKNOWN: 404},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(message_queries.query(), request.query, _FILTERS)
        async with self.database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with as_problems(unknown=_UNKNOWN):
            query = message_queries.get(request.params["id"])
            async with self.database.connection() as conn:
                message = await afetch_one(conn, query)
                deliveries = await delivery_queries.matching(message=message.id).alist(conn)
        return ConsoleResponse(200, WholeMessage(**asdict(message), deliveries=deliveries.data))
