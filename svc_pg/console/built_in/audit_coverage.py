"""Routes of the coverage: each table of the database, audited or not, and the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.read.coverage import coverage
from svc_pg.audit.read.coverage_filters import CoverageFilter
from svc_pg.audit.read.covered_tables import CoverageCounts, CoveredTable
from svc_pg.config import AuditConfig
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.database.pagination import Page

_WHICH: Final = declared(CoverageFilter)
_LISTED: Final = {**_WHICH, **PAGE}


@dataclass(frozen=True, slots=True)
class CoverageRoutes:
    """The handlers, and the objects that they need."""

    log: ConsoleLog
    config: AuditConfig

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/coverage",
                operation_id="coverage.list",
                handler=self._list,
                is_compressed=True,
                summary="Each table of the database by name: audited or not, why not, and its entries by day",
                query=documented(_LISTED),
                response=Page[CoveredTable],
                errors={"not_supported": 422},
            ),
            ProductEndpoint(
                method="GET",
                path="/coverage/counts",
                operation_id="coverage.counts",
                handler=self._counts,
                summary="The number of tables in each state, and the schemas of the database",
                query=documented(_WHICH),
                response=CoverageCounts,
                errors={"not_supported": 422},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(coverage(self.config), request.query, _LISTED)
        async with self.log.past(request.session) as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _counts(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(coverage(self.config), request.query, _WHICH)
        async with self.log.past(request.session) as conn:
            return ConsoleResponse(200, await wanted.acounts(conn))
