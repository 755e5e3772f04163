"""Routes of webhook endpoints: register, inspect, change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from svc_pg import durations
from svc_pg.console.body import read_body
from svc_pg.console.built_in.endpoint_urls import endpoints_for
from svc_pg.console.built_in.webhook_requests import (
    ENDPOINT_EXAMPLE,
    Disabling,
    EndpointChanges,
    NewEndpoint,
    Recovery,
    Rotation,
    as_problems,
    changed,
    found,
)
from svc_pg.console.database import Database
from svc_pg.console.documentation import one_of
from svc_pg.console.parameters import PAGE, PAGE_BYTES, FilterParameter, documented, filtered, point_in_time
from svc_pg.console.products import ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse, created
from svc_pg.errors import EncryptionKeyError
from svc_pg.pagination import Page
from svc_pg.query import Query, Row, afetch_one
from svc_pg.webhooks import delivery_queries, endpoint_queries
from svc_pg.webhooks.delivery_rows import Changed, Delivery
from svc_pg.webhooks.endpoint_queries import Endpoint, EndpointQuery, EndpointWithSecret
from svc_pg.webhooks.endpoint_stats import LONGEST, EndpointStats, stats
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing

_FILTERS: Final[dict[str, FilterParameter[EndpointQuery]]] = {
    "status": FilterParameter(EndpointQuery.status, "endpoints in that state", one_of(endpoint_queries.STATUSES)),
    "tenant": FilterParameter(EndpointQuery.tenant, "endpoints of one tenant"),
    "event": FilterParameter(EndpointQuery.event, "endpoints that get this event"),
    **PAGE,
}
_UNKNOWN: Final = "unknown_endpoint"
_REFUSED: Final = {"invalid_endpoint": 422, "encryption_key_missing": 503}


@dataclass(frozen=True, slots=True)
class EndpointRoutes:
    """The handlers, and the objects that they need. Without ``keys``, routes that make or seal a secret answer 503."""

    database: Database
    guard: Guard
    keys: KeyRing | None

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/endpoints",
                handler=self._list,
                summary="Endpoints, newest first",
                query=documented(_FILTERS),
                response=Page[Endpoint],
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints",
                handler=self._create,
                required_permission="write",
                summary="Register an endpoint; the answer holds its secret, this once",
                body=NewEndpoint,
                body_example=ENDPOINT_EXAMPLE,
                response=EndpointWithSecret,
                status=201,
                errors=_REFUSED,
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/:id",
                handler=self._get,
                summary="One endpoint",
                response=Endpoint,
                errors={_UNKNOWN: 404},
            ),
            ProductEndpoint(
                method="PATCH",
                path="/endpoints/:id",
                handler=self._update,
                required_permission="write",
                summary="Change an endpoint",
                body=EndpointChanges,
                body_example={"events": ["order.*"]},
                response=Endpoint,
                errors={_UNKNOWN: 404, **_REFUSED},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/endpoints/:id",
                handler=self._delete,
                required_permission="write",
                summary="Delete an endpoint and cancel its pending deliveries",
                status=204,
                errors={_UNKNOWN: 404},
            ),
            self._verb(
                "pause",
                endpoint_queries.pause,
                "Send nothing for now; pending deliveries wait",
                conflict=409,  # a disabled one
            ),
            self._verb("resume", endpoint_queries.resume, "Make it active again and forget its failures"),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/disable",
                handler=self._disable,
                required_permission="write",
                summary="Stop sending and cancel pending deliveries",
                body=Disabling,
                response=Endpoint,
                errors={_UNKNOWN: 404, "invalid_endpoint": 422},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/rotate-secret",
                handler=self._rotate_secret,
                required_permission="write",
                summary="Give it a new secret, shown this once; the previous one signs too for a while",
                body=Rotation,
                response=EndpointWithSecret,
                errors={_UNKNOWN: 404, **_REFUSED},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/ping",
                handler=self._ping,
                required_permission="write",
                summary="Send the event webhook.ping to it, with one attempt",
                response=Delivery,
                status=202,
                errors={_UNKNOWN: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/recover",
                handler=self._recover,
                required_permission="write",
                summary="Try its failed and canceled deliveries again, 10,000 at a time",
                body=Recovery,
                body_example={"since": "1d", "dryRun": True},
                response=Changed,
                errors={_UNKNOWN: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/:id/stats",
                handler=self._stats,
                summary="Its health, and the results of its latest deliveries, 10,000 at most",
                query=documented(_WINDOW),
                response=EndpointStats,
                errors={_UNKNOWN: 404},
            ),
        ]

    def _verb(
        self,
        verb: str,
        change: Callable[[str], Query[Endpoint]],
        summary: str,
        **errors: int,
    ) -> ProductEndpoint:
        async def handle(request: AuthenticatedRequest) -> ConsoleResponse:
            endpoint = await self._changed(request, change)
            return ConsoleResponse(200, endpoint)

        return ProductEndpoint(
            method="POST",
            path=f"/endpoints/:id/{verb}",
            handler=handle,
            required_permission="write",
            summary=summary,
            response=Endpoint,
            errors={_UNKNOWN: 404, **errors},
        )

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(endpoint_queries.query(), request.query, _FILTERS)
        async with self.database.connection() as conn:
            page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, Page(endpoints_for(request.session, page.data), page.next_cursor))

    async def _create(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, NewEndpoint)
        with as_problems():
            new = endpoint_queries.create(
                url=body.url,
                events=body.events,
                keys=self._keys(),
                guard=self.guard,
                description=body.description,
                tenant=body.tenant,
                headers=body.headers,
                max_in_flight=body.max_in_flight,
                timeout=timedelta(seconds=body.timeout),
            )
            endpoint = await self._with_secret(request, new)
        return created(request, endpoint.id, endpoint)

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        endpoints = await found(self.database, request, endpoint_queries.get, unknown=_UNKNOWN)
        [endpoint] = endpoints_for(request.session, endpoints)
        return ConsoleResponse(200, endpoint)

    async def _update(self, request: AuthenticatedRequest) -> ConsoleResponse:
        changes: dict[str, Any] = read_body(request, EndpointChanges).model_dump(exclude_unset=True)
        if "timeout" in changes:
            changes["timeout"] = timedelta(seconds=changes["timeout"])
        with as_problems():
            keys = self._keys() if changes.get("headers") else None
        endpoint = await self._changed(
            request, lambda endpoint_id: endpoint_queries.update(endpoint_id, keys=keys, guard=self.guard, **changes)
        )
        return ConsoleResponse(200, endpoint)

    async def _delete(self, request: AuthenticatedRequest) -> ConsoleResponse:
        await self._changed(request, endpoint_queries.delete)
        return ConsoleResponse(204)

    async def _disable(self, request: AuthenticatedRequest) -> ConsoleResponse:
        reason = read_body(request, Disabling).reason
        endpoint = await self._changed(
            request, lambda endpoint_id: endpoint_queries.disable(endpoint_id, reason=reason)
        )
        return ConsoleResponse(200, endpoint)

    async def _rotate_secret(self, request: AuthenticatedRequest) -> ConsoleResponse:
        overlap = timedelta(seconds=read_body(request, Rotation).overlap)
        with as_problems(unknown=_UNKNOWN):
            new = endpoint_queries.rotate_secret(request.params["id"], keys=self._keys(), overlap=overlap)
            return ConsoleResponse(200, await self._with_secret(request, new))

    async def _ping(self, request: AuthenticatedRequest) -> ConsoleResponse:
        delivery = await self._changed(request, delivery_queries.ping)
        return ConsoleResponse(202, delivery)

    async def _recover(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, Recovery)
        since = None if body.since is None else point_in_time(body.since)
        retried = await self._changed(
            request, lambda endpoint_id: delivery_queries.recover(endpoint_id, since=since, dry_run=body.dry_run)
        )
        return ConsoleResponse(200, retried)

    async def _stats(self, request: AuthenticatedRequest) -> ConsoleResponse:
        window = filtered(timedelta(hours=24), request.query, _WINDOW)
        [health] = await found(self.database, request, partial(stats, window=window), unknown=_UNKNOWN)
        return ConsoleResponse(200, health)

    async def _changed(self, request: AuthenticatedRequest, change: Callable[[str], Query[Row]]) -> Row:
        return await changed(self.database, request, change, unknown=_UNKNOWN)

    async def _with_secret(self, request: AuthenticatedRequest, new: Query[EndpointWithSecret]) -> EndpointWithSecret:
        async with self.database.acting(request) as conn:
            return await afetch_one(conn, new)

    def _keys(self) -> KeyRing:
        if self.keys is None:
            raise EncryptionKeyError("SVC_ENCRYPTION_KEYS is not set")
        return self.keys


def _window(_: timedelta, text: str) -> timedelta:
    window = durations.parse(text)
    if window > LONGEST:
        raise ValueError(f"ask for up to {LONGEST.days} days")
    return window


_WINDOW: Final[dict[str, FilterParameter[timedelta]]] = {
    "window": FilterParameter(_window, "a duration up to 7d; default: 24h", {"type": "string", "default": "24h"})
}
