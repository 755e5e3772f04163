"""The route that tries a filter on the newest messages, before an endpoint has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from svc_pg.console.built_in.webhook_resources import as_problems
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import FilterParameter, documented, filtered, refuse
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import Page
from svc_pg.webhooks.endpoints.tried_filters import MOST_EVENTS, TriedMessage, atry_filter


@dataclass(frozen=True, slots=True)
class _Asked:
    path: str | None = None
    events: tuple[str, ...] = ("*",)
    tenant: str | None = None


_ASKED: Final[dict[str, FilterParameter[_Asked]]] = {
    "filter": FilterParameter(
        lambda asked, path: replace(asked, path=path),
        "the SQL/JSON path that payloads must meet",
        text("$.amount > 100"),
        is_required=True,
    ),
    "event": FilterParameter(
        lambda asked, *events: replace(asked, events=events),
        "an event of the endpoint, or a pattern as order.*; repeat it for several; all by default",
        text("order.*"),
        MOST_EVENTS,
    ),
    "tenant": FilterParameter(
        lambda asked, tenant: replace(asked, tenant=tenant),
        "the tenant of the endpoint; without it, messages of all count",
        text("acme"),
    ),
}


@dataclass(frozen=True, slots=True)
class FilterTrialRoutes:
    """The handler, and the object that it needs."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/filter-trial",
                operation_id="messages.try_filter",
                handler=self._try,
                required_permission="write",
                is_compressed=True,
                serves_tenants=True,
                summary="The newest messages that an endpoint would get, and which of them a filter would let through",
                query=documented(_ASKED),
                response=Page[TriedMessage],
                errors={"invalid_endpoint": 422},
            )
        ]

    async def _try(self, request: AuthenticatedRequest) -> ConsoleResponse:
        asked = filtered(_Asked(tenant=request.session.tenant), request.query, _ASKED)
        if asked.path is None:
            refuse("filter", "is missing; write for example $.amount > 100")
        if request.session.tenant not in (None, asked.tenant):
            refuse("tenant", "is another than yours")
        with as_problems():
            async with self.database.connection() as conn:
                found = await atry_filter(conn, asked.path, events=asked.events, tenant=asked.tenant)
        return ConsoleResponse(200, Page(found, None))
