"""The route of audited tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from svc_pg.audit.read.tables import CapturedTable, query
from svc_pg.config import AuditConfig
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.http.parameters import PAGE, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import Page


@dataclass(frozen=True, slots=True)
class TableRoutes:
    """The handlers, and the objects that they need."""

    log: ConsoleLog
    config: AuditConfig

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/tables",
                operation_id="tables.list",
                handler=self._list,
                is_compressed=True,
                summary="The audited tables by name, with their rules and the state of capture",
                query=documented(PAGE),
                response=Page[CapturedTable],
                errors={"not_supported": 503},
            )
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(query(self.config), request.query, PAGE)
        return ConsoleResponse(200, await self.log.tables(wanted))
