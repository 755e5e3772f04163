"""Routes of webhook deliveries and events: read, retry, cancel, send."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, LiteralString

from psycopg.errors import UntranslatableCharacter

from svc_pg.console.body import read_body
from svc_pg.console.built_in.webhook_requests import BulkRetry, NewEvent, as_problems, changed, found
from svc_pg.console.database import Database
from svc_pg.console.documentation import Parameter, one_of
from svc_pg.console.parameters import PAGE, PAGE_BYTES, FilterParameter, documented, filtered, point_in_time
from svc_pg.console.products import ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.errors import PayloadError
from svc_pg.pagination import Filter, Keyset, Listing, Page, decode
from svc_pg.query import Query, afetch, afetch_one
from svc_pg.webhooks import delivery_queries
from svc_pg.webhooks.delivery_queries import DeliveryQuery
from svc_pg.webhooks.delivery_rows import STATUSES, Changed, Delivery, DeliveryAttempt, DeliveryDetail
from svc_pg.webhooks.event_types import EventType, event_types
from svc_pg.webhooks.events import asend
from svc_pg.webhooks.ids import delivery_key

_FILTERS: Final[dict[str, FilterParameter[DeliveryQuery]]] = {
    "endpointId": FilterParameter(
        DeliveryQuery.endpoint, "deliveries to one endpoint", {"type": "string", "format": "uuid"}
    ),
    "messageId": FilterParameter(
        DeliveryQuery.message, "deliveries of one message", {"type": "string", "format": "uuid"}
    ),
    "status": FilterParameter(DeliveryQuery.status, "deliveries in that state", one_of(STATUSES)),
    "event": FilterParameter(DeliveryQuery.event, "deliveries of one event"),
    "since": FilterParameter(
        lambda query, text: query.since(point_in_time(text)),
        "deliveries created from then on: RFC 3339, or a duration such as 1h",
    ),
    "until": FilterParameter(lambda query, text: query.until(point_in_time(text)), "deliveries created before then"),
    **PAGE,
}
# json -> keeps the text as it was written; a parsed number would not
_PAYLOAD: Final[LiteralString] = "select (convert_from(%s, 'UTF8')::json -> 'payload')::text as payload"
_UNKNOWN: Final = "unknown_delivery"
_KEY_BYTES: Final = 1024
_IDEMPOTENCY_KEY: Final = Parameter(
    name="Idempotency-Key",
    description="a repetition with the same key sends nothing, and answers with the id of the first message",
    schema={"type": "string", "minLength": 1, "maxLength": _KEY_BYTES},
)


@dataclass(frozen=True, slots=True)
class SentEvent:
    """The message that a sent event became."""

    id: str


@dataclass(frozen=True, slots=True)
class _Payload:
    payload: str


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
                handler=self._list,
                summary="Deliveries, newest first",
                query=documented(_FILTERS),
                response=Page[Delivery],
            ),
            ProductEndpoint(
                method="GET",
                path="/deliveries/:id",
                handler=self._get,
                summary="One delivery, with its payload",
                response=DeliveryDetail,
                errors={_UNKNOWN: 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/deliveries/:id/attempts",
                handler=self._attempts,
                summary="Its attempts, oldest first",
                query=documented(PAGE),
                response=Page[DeliveryAttempt],
                errors={_UNKNOWN: 404},
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/retry",
                handler=self._retry_many,
                required_permission="write",
                summary="Try the matching failed and canceled deliveries again, 10,000 at a time",
                body=BulkRetry,
                body_example={"event": "order.created", "since": "1d", "dryRun": True},
                response=Changed,
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/:id/retry",
                handler=self._retry,
                required_permission="write",
                summary="Make a failed or canceled delivery due now",
                response=Delivery,
                errors={_UNKNOWN: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="POST",
                path="/deliveries/:id/cancel",
                handler=self._cancel,
                required_permission="write",
                summary="Cancel a pending delivery",
                response=Delivery,
                errors={_UNKNOWN: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="GET",
                path="/event-types",
                handler=self._event_types,
                summary="The events that endpoints can subscribe to",
                response=Page[EventType],
            ),
            ProductEndpoint(
                method="POST",
                path="/events",
                handler=self._send,
                required_permission="write",
                summary="Send an event",
                headers=[_IDEMPOTENCY_KEY],
                body=NewEvent,
                body_example={"event": "order.created", "payload": {"id": 7}},
                response=SentEvent,
                status=202,
                errors={"unknown_event": 422, "invalid_payload": 422, "invalid_idempotency_key": 422},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(delivery_queries.query(), request.query, _FILTERS)
        async with self.database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        [delivery] = await found(self.database, request, delivery_queries.get, unknown=_UNKNOWN)
        return ConsoleResponse(200, delivery)

    async def _attempts(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with as_problems(unknown=_UNKNOWN):
            wanted = filtered(_attempts_of(request.params["id"]), request.query, PAGE)
            async with self.database.connection() as conn:
                return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _retry_many(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, BulkRetry)
        wanted = _matching(body)
        if wanted == delivery_queries.query():
            raise Problem(422, "invalid_body", "Give at least one of endpointId, event, status, since and until.")
        with as_problems():
            async with self.database.acting(request) as conn:
                retried = await afetch_one(conn, wanted.retry(dry_run=body.dry_run))
        return ConsoleResponse(200, retried)

    async def _retry(self, request: AuthenticatedRequest) -> ConsoleResponse:
        delivery = await changed(self.database, request, delivery_queries.retry, unknown=_UNKNOWN)
        return ConsoleResponse(200, delivery)

    async def _cancel(self, request: AuthenticatedRequest) -> ConsoleResponse:
        delivery = await changed(self.database, request, delivery_queries.cancel, unknown=_UNKNOWN)
        return ConsoleResponse(200, delivery)

    async def _event_types(self, _request: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.connection() as conn:
            return ConsoleResponse(200, Page(await afetch(conn, event_types()), None))

    async def _send(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, NewEvent)
        idempotency_key = _idempotency_key(request)
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
                    idempotency_key=idempotency_key,
                    tenant=body.tenant,
                    delay=timedelta(seconds=body.delay),
                    key=body.key,
                )
        return ConsoleResponse(202, SentEvent(str(message_id)))


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


def _idempotency_key(request: AuthenticatedRequest) -> str | None:
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    # all events with an empty key would count as one
    if len(keys) > 1 or not 0 < len(keys[0].encode()) <= _KEY_BYTES:
        detail = f"Send the header Idempotency-Key once, with 1 to {_KEY_BYTES} bytes."
        raise Problem(422, "invalid_idempotency_key", detail)
    return keys[0]


def _matching(body: BulkRetry) -> DeliveryQuery:
    return delivery_queries.matching(
        endpoint=None if body.endpoint_id is None else str(body.endpoint_id),
        event=body.event,
        status=body.status,
        since=None if body.since is None else point_in_time(body.since),
        until=None if body.until is None else point_in_time(body.until),
    )
