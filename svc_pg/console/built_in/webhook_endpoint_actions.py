"""Routes of webhook endpoints: pause, disable, rotate, ping, recover, replay."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from svc_pg.console.built_in.tenant_limits import refuse_pings
from svc_pg.console.built_in.webhook_bodies import (
    DisableEndpointRequest,
    RecoverEndpointRequest,
    ReplayMessagesRequest,
    RotateSecretRequest,
    chosen,
)
from svc_pg.console.built_in.webhook_resources import (
    OF_ENDPOINT,
    REFUSED_ENDPOINT,
    UNKNOWN_ENDPOINT,
    as_problems,
    changed,
    refuse_foreign,
    required,
)
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import read_body
from svc_pg.console.http.preconditions import IF_MATCH, OUTDATED, check, needs_check, tag
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.performing import arun
from svc_pg.database.query import Query, Row, afetch_one
from svc_pg.webhooks.deliveries import delivery_queries, replay_queries
from svc_pg.webhooks.deliveries.delivery_filters import CreatedWithin, ReplayFilter
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, Delivery
from svc_pg.webhooks.deliveries.replay_queries import ReplayResult
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint, EndpointWithSecret
from svc_pg.webhooks.secrets import KeyRing


@dataclass(frozen=True, slots=True)
class EndpointActionRoutes:
    """The handlers, and the objects that they need. Without ``keys`` no secret can be rotated: 503."""

    database: Database
    keys: KeyRing | None

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
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
                operation_id="endpoints.disable",
                path_parameters=OF_ENDPOINT,
                handler=self._disable,
                required_permission="write",
                serves_tenants=True,
                summary="Stop sending and cancel pending deliveries",
                body=DisableEndpointRequest,
                body_example={"reason": "Moved to another host"},
                response=Endpoint,
                errors={UNKNOWN_ENDPOINT: 404, "invalid_endpoint": 422},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/rotate-secret",
                operation_id="endpoints.rotate_secret",
                keeps_answer=True,
                path_parameters=OF_ENDPOINT,
                handler=self._rotate_secret,
                required_permission="write",
                serves_tenants=True,
                summary="Give it a new secret, shown this once, and key pair; the previous ones sign too for a while",
                headers=[IF_MATCH],
                body=RotateSecretRequest,
                body_example={"overlap": 86400},
                response=EndpointWithSecret,
                errors={UNKNOWN_ENDPOINT: 404, **REFUSED_ENDPOINT, **OUTDATED},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/ping",
                operation_id="endpoints.ping",
                keeps_answer=True,
                path_parameters=OF_ENDPOINT,
                handler=self._ping,
                required_permission="write",
                serves_tenants=True,
                summary="Send the event webhook.ping to it, with one attempt",
                response=Delivery,
                status=202,
                errors={UNKNOWN_ENDPOINT: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/recover",
                operation_id="endpoints.recover",
                path_parameters=OF_ENDPOINT,
                handler=self._recover,
                required_permission="write",
                serves_tenants=True,
                summary="Try its failed and canceled deliveries again, 10,000 at a time",
                body=RecoverEndpointRequest,
                body_example={"since": "1d", "dryRun": True},
                response=BulkResult,
                errors={UNKNOWN_ENDPOINT: 404, "conflict": 409},
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints/:id/replay",
                operation_id="endpoints.replay",
                keeps_answer=True,
                path_parameters=OF_ENDPOINT,
                handler=self._replay,
                required_permission="write",
                serves_tenants=True,
                summary="Deliver messages to it once more, or those that it never got, 10,000 at a time",
                body=ReplayMessagesRequest,
                body_example={"since": "1d", "status": "delivered", "dryRun": True},
                response=ReplayResult,
                errors={UNKNOWN_ENDPOINT: 404, "conflict": 409, "invalid_value": 422},
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
            operation_id=f"endpoints.{verb}",
            path_parameters=OF_ENDPOINT,
            handler=handle,
            required_permission="write",
            serves_tenants=True,
            summary=summary,
            response=Endpoint,
            errors={UNKNOWN_ENDPOINT: 404, **errors},
        )

    async def _disable(self, request: AuthenticatedRequest) -> ConsoleResponse:
        reason = read_body(request, DisableEndpointRequest).reason
        endpoint = await self._changed(
            request, lambda endpoint_id: endpoint_queries.disable(endpoint_id, reason=reason)
        )
        return ConsoleResponse(200, endpoint)

    async def _rotate_secret(self, request: AuthenticatedRequest) -> ConsoleResponse:
        overlap = timedelta(seconds=read_body(request, RotateSecretRequest).overlap)
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            endpoint_id = request.params["id"]
            before = endpoint_queries.locked(endpoint_id)
            rotation = endpoint_queries.rotate_secret(endpoint_id, keys=required(self.keys), overlap=overlap)
            async with self.database.acting(request) as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_ENDPOINT)
                if needs_check(request):
                    check(request, (await afetch_one(conn, before)).version)
                endpoint = await afetch_one(conn, rotation)
        return ConsoleResponse(200, endpoint, {"ETag": tag(endpoint.version)})

    async def _ping(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            ping = delivery_queries.ping(request.params["id"])
            async with self.database.acting(request) as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_ENDPOINT)
                await refuse_pings(conn, request)
                delivery = await afetch_one(conn, ping)
        return ConsoleResponse(202, delivery)

    async def _recover(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, RecoverEndpointRequest)
        wanted, tenant = chosen(CreatedWithin, body), request.session.tenant
        recovery = delivery_queries.recover(request.params["id"], **wanted, dry_run=body.dry_run, tenant=tenant)
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            async with self.database.acting(request) as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_ENDPOINT)
                retried = await arun(conn, recovery)
        return ConsoleResponse(200, retried)

    async def _replay(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, ReplayMessagesRequest)
        batch = partial(
            replay_queries.replay,
            **chosen(ReplayFilter, body),
            by=body.by,
            new_ids=body.new_ids,
            dry_run=body.dry_run,
            after=body.after,
        )
        replayed = await self._changed(request, batch)
        return ConsoleResponse(200, replayed)

    async def _changed(self, request: AuthenticatedRequest, change: Callable[[str], Query[Row]]) -> Row:
        return await changed(self.database, request, change, unknown=UNKNOWN_ENDPOINT)
