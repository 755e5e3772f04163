"""Routes of webhook events: the types that there are, and sending one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, LiteralString

from psycopg.errors import UntranslatableCharacter

from svc_pg.console.built_in.webhook_bodies import SendEventRequest
from svc_pg.console.built_in.webhook_resources import as_problems
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import read_body
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.repeated_calls import REFUSED_KEY, idempotency_key, key_of
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import Page
from svc_pg.database.query import Query, afetch, afetch_one
from svc_pg.errors import PayloadError
from svc_pg.webhooks.events.event_types import EventType, event_types
from svc_pg.webhooks.events.sending import asend
from svc_pg.webhooks.field_docs import MESSAGE_ID

# json -> keeps the text as it was written; a parsed number would not
_PAYLOAD: Final[LiteralString] = "select (convert_from(%s, 'UTF8')::json -> 'payload')::text as payload"
_IDEMPOTENCY_KEY: Final = idempotency_key(
    "a repetition with the same key sends nothing, and answers with the id of the first message"
)


@dataclass(frozen=True, slots=True)
class SentEvent:
    """The message that a sent event became."""

    id: Annotated[str, MESSAGE_ID]


@dataclass(frozen=True, slots=True)
class _Payload:
    payload: str


@dataclass(frozen=True, slots=True)
class EventRoutes:
    """The handlers, and the object that they need."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/event-types",
                operation_id="event_types.list",
                handler=self._event_types,
                is_compressed=True,
                serves_tenants=True,
                summary="The events that endpoints can subscribe to",
                response=Page[EventType],
            ),
            ProductEndpoint(
                method="POST",
                path="/events",
                operation_id="events.send",
                handler=self._send,
                required_permission="write",
                summary="Send an event",
                headers=[_IDEMPOTENCY_KEY],
                body=SendEventRequest,
                body_example={"event": "order.created", "payload": {"id": 7}},
                response=SentEvent,
                status=202,
                errors={**dict.fromkeys(("unknown_event", "invalid_payload", "invalid_value"), 422), **REFUSED_KEY},
            ),
        ]

    async def _event_types(self, request: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.connection() as conn:
            return ConsoleResponse(200, Page(await afetch(conn, event_types(tenant=request.session.tenant)), None))

    async def _send(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, SendEventRequest)
        key = key_of(request)
        with as_problems():
            async with self.database.acting(request) as conn:
                try:
                    raw = await afetch_one(conn, Query(_PAYLOAD, (request.content,), _Payload))
                except UntranslatableCharacter as error:
                    raise PayloadError("the payload contains \\u0000, which PostgreSQL cannot store") from error
                message_id = await asend(
                    conn,
                    body.event,
                    raw.payload,
                    idempotency_key=key,
                    tenant=body.tenant,
                    delay=timedelta(seconds=body.delay),
                    key=body.key,
                )
        return ConsoleResponse(202, SentEvent(str(message_id)))
