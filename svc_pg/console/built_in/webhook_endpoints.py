"""Routes of webhook endpoints: register, inspect, change."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Final

from psycopg import AsyncConnection

from svc_pg.console.built_in.endpoint_urls import endpoints_for
from svc_pg.console.built_in.tenant_limits import of_customer, refuse_another, refuse_excess
from svc_pg.console.built_in.webhook_bodies import ENDPOINT_EXAMPLE, CreateEndpointRequest, UpdateEndpointRequest
from svc_pg.console.built_in.webhook_resources import (
    OF_ENDPOINT,
    REFUSED_ENDPOINT,
    UNKNOWN_ENDPOINT,
    as_problems,
    changed,
    refuse_foreign,
    required,
    restricted,
    rows_or_problem,
    tenant_for,
)
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body_problems import BodyProblems
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, FilterParameter, declared, documented, filtered
from svc_pg.console.http.preconditions import IF_MATCH, OUTDATED, check, needs_check, tag
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleRequest, ConsoleResponse, created
from svc_pg.console.sign_in.known_tenants import KnownTenants, ais_new
from svc_pg.console.sign_in.lifetimes import IS_NEW_TENANT
from svc_pg.database.pagination import Page
from svc_pg.database.performing import arun
from svc_pg.database.query import Query, afetch_one
from svc_pg.formats import durations
from svc_pg.webhooks.endpoints import endpoint_health, endpoint_queries
from svc_pg.webhooks.endpoints.endpoint_fields import Changes, needs_keys
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth, HealthFilter, HealthQuery
from svc_pg.webhooks.endpoints.endpoint_queries import EndpointQuery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint, EndpointWithSecret
from svc_pg.webhooks.endpoints.endpoint_stats import LONGEST, EndpointStats, stats
from svc_pg.webhooks.endpoints.outages import EndpointOutage, OutageAnswer, outage
from svc_pg.webhooks.endpoints.tried_filters import acheck_filter
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing

_FILTERS: Final = {**declared(EndpointFilter), **PAGE}
_HEALTH_FILTERS: Final = {**declared(HealthFilter), **PAGE}


@dataclass(frozen=True, slots=True)
class RegisteredEndpoint(EndpointWithSecret):
    """A new endpoint and its secret."""

    is_new_tenant: Annotated[bool, IS_NEW_TENANT]


@dataclass(frozen=True, slots=True)
class EndpointRoutes:
    """The handlers, and the objects that they need. Without ``keys``, routes that make or seal a secret answer 503.

    Operators register endpoints of ``known`` tenants.
    """

    database: Database
    guard: Guard
    keys: KeyRing | None
    known: KnownTenants

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/endpoints",
                operation_id="endpoints.list",
                handler=self._list,
                serves_tenants=True,
                summary="Endpoints, newest first",
                query=documented(_FILTERS),
                response=Page[Endpoint],
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/health",
                operation_id="endpoints.list_health",
                handler=self._health,
                serves_tenants=True,
                summary="The health of endpoints, newest first",
                query=documented(_HEALTH_FILTERS),
                response=Page[EndpointHealth],
            ),
            ProductEndpoint(
                method="POST",
                path="/endpoints",
                operation_id="endpoints.create",
                keeps_answer=True,
                handler=self._create,
                required_permission="write",
                serves_tenants=True,
                summary="Register an endpoint; the answer holds its secret, this once",
                body=CreateEndpointRequest,
                body_example=ENDPOINT_EXAMPLE,
                response=RegisteredEndpoint,
                status=201,
                errors={"not_for_tenants": 403, "unknown_tenant": 404, "too_many_endpoints": 409, **REFUSED_ENDPOINT},
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/:id",
                operation_id="endpoints.get",
                path_parameters=OF_ENDPOINT,
                handler=self._get,
                serves_tenants=True,
                summary="One endpoint",
                response=Endpoint,
                errors={UNKNOWN_ENDPOINT: 404},
            ),
            ProductEndpoint(
                method="PATCH",
                path="/endpoints/:id",
                operation_id="endpoints.update",
                path_parameters=OF_ENDPOINT,
                handler=self._update,
                required_permission="write",
                serves_tenants=True,
                summary="Change an endpoint; with If-Match only if nobody else has changed it",
                headers=[IF_MATCH],
                body=UpdateEndpointRequest,
                body_example={"events": ["order.*"], "ratePerSecond": None},
                response=Endpoint,
                errors={"not_for_tenants": 403, UNKNOWN_ENDPOINT: 404, **REFUSED_ENDPOINT, **OUTDATED},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/endpoints/:id",
                operation_id="endpoints.delete",
                path_parameters=OF_ENDPOINT,
                handler=self._delete,
                required_permission="write",
                serves_tenants=True,
                summary="Delete an endpoint and cancel its pending deliveries",
                status=204,
                errors={UNKNOWN_ENDPOINT: 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/:id/stats",
                operation_id="endpoints.stats",
                path_parameters=OF_ENDPOINT,
                handler=self._stats,
                serves_tenants=True,
                summary="Its health, and the results of its latest deliveries, 10,000 at most",
                query=documented(_WINDOW),
                response=EndpointStats,
                errors={UNKNOWN_ENDPOINT: 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/endpoints/:id/outage",
                operation_id="endpoints.outage",
                path_parameters=OF_ENDPOINT,
                handler=self._outage,
                serves_tenants=True,
                summary="Its last outage: since when, what it answers, and what waits; deliveries up to 1,000",
                response=EndpointOutage,
                errors={UNKNOWN_ENDPOINT: 404},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(
            restricted(endpoint_queries.query(), request.session, EndpointQuery.tenant), request.query, _FILTERS
        )
        async with self.database.connection() as conn:
            page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, replace(page, data=endpoints_for(request.session, page.data)))

    async def _health(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(
            restricted(endpoint_health.query(), request.session, HealthQuery.tenant), request.query, _HEALTH_FILTERS
        )
        async with self.database.connection() as conn:
            page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, replace(page, data=endpoints_for(request.session, page.data)))

    async def _create(self, request: AuthenticatedRequest) -> ConsoleResponse:
        problems = BodyProblems()
        if (body := problems.read(request, CreateEndpointRequest)) is not None:
            with problems.kept():
                tenant, options = tenant_for(request.session, body.tenant), of_customer(request, body.options())
                refuse_excess(request, options)
                with as_problems():
                    new = endpoint_queries.create(**options, tenant=tenant, keys=required(self.keys), guard=self.guard)
        with as_problems():
            async with self.database.acting(request) as conn:
                await refuse_another(conn, request)
                named = problems.text(request, "tenant") if request.session.tenant is None else None
                if named is not None:
                    async with problems.of(conn, "tenant"):
                        with as_problems():
                            await self.known.refuse_unknown(conn, named)
                await _check_filter(conn, request, problems)
                problems.refuse()
                is_new = await ais_new(conn, named)
                made = await afetch_one(conn, new)
        values = {each.name: getattr(made, each.name) for each in fields(made)}
        endpoint = RegisteredEndpoint(**values, is_new_tenant=is_new)
        answer = created(request, endpoint.id, endpoint)
        return replace(answer, headers={**answer.headers, "ETag": tag(endpoint.version)})

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        endpoints = await rows_or_problem(self.database, request, endpoint_queries.get, unknown=UNKNOWN_ENDPOINT)
        [endpoint] = endpoints_for(request.session, endpoints)
        return ConsoleResponse(200, endpoint, {"ETag": tag(endpoint.version)})

    async def _update(self, request: AuthenticatedRequest) -> ConsoleResponse:
        problems = BodyProblems()
        body = problems.read(request, UpdateEndpointRequest)
        changes = {} if body is None else body.options()
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            before = endpoint_queries.locked(request.params["id"])
            async with self.database.acting(request) as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_ENDPOINT)
                found_before = None
                if needs_check(request) or request.session.tenant is not None:
                    found_before = await afetch_one(conn, before)
                with problems.kept(), as_problems():
                    if found_before is not None:
                        refuse_excess(request, changes, found_before)
                        changes = of_customer(request, changes, found_before)
                    change = self._change(request.params["id"], changes)
                await _check_filter(conn, request, problems)
                problems.refuse()
                if found_before is not None:
                    check(request, found_before.version)
                endpoint = await afetch_one(conn, change)
        return ConsoleResponse(200, endpoint, {"ETag": tag(endpoint.version)})

    def _change(self, endpoint_id: str, changes: Changes) -> Query[Endpoint]:
        keys = required(self.keys) if needs_keys(changes) else None
        return endpoint_queries.update(endpoint_id, keys=keys, guard=self.guard, **changes)

    async def _delete(self, request: AuthenticatedRequest) -> ConsoleResponse:
        await changed(self.database, request, endpoint_queries.delete, unknown=UNKNOWN_ENDPOINT)
        return ConsoleResponse(204)

    async def _stats(self, request: AuthenticatedRequest) -> ConsoleResponse:
        window = filtered(timedelta(hours=24), request.query, _WINDOW)
        with as_problems(unknown=UNKNOWN_ENDPOINT):
            async with self.database.connection() as conn:
                await refuse_foreign(conn, request, unknown=UNKNOWN_ENDPOINT)
                found = await arun(conn, stats(request.params["id"], window=window))
        return ConsoleResponse(200, found)

    async def _outage(self, request: AuthenticatedRequest) -> ConsoleResponse:
        tenant = request.session.tenant
        [last] = await rows_or_problem(self.database, request, partial(outage, tenant=tenant), unknown=UNKNOWN_ENDPOINT)
        if tenant is not None:  # whose business the operator's machines are not
            last = replace(
                last, first_answer=_without_worker(last.first_answer), last_answer=_without_worker(last.last_answer)
            )
        return ConsoleResponse(200, last)


def _without_worker(answer: OutageAnswer | None) -> OutageAnswer | None:
    return None if answer is None else replace(answer, worker=None)


def _window(_: timedelta, text: str) -> timedelta:
    window = durations.parse(text)
    if window > LONGEST:
        raise ValueError(f"ask for up to {LONGEST.days} days")
    return window


_WINDOW: Final[dict[str, FilterParameter[timedelta]]] = {
    "window": FilterParameter(_window, "a duration up to 7d; default: 24h", {**text("7d"), "default": "24h"})
}


async def _check_filter(conn: AsyncConnection[Any], request: ConsoleRequest, problems: BodyProblems) -> None:
    """Keep the problem of a filter, which only the database knows, beside others. Alone, the change itself finds it."""
    if problems and (path := problems.text(request, "filter")):
        async with problems.of(conn, "filter"):
            with as_problems():
                await acheck_filter(conn, path)
