"""The route of the audit log's transactions: what belongs together, as one row of a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import SEARCHES, WHICH, asked, visible
from svc_pg.console.built_in.audit_lookup import page_of, searchable
from svc_pg.console.built_in.endpoint_urls import entries_for
from svc_pg.console.built_in.transaction_pages import (
    DEFAULT_TRANSACTIONS,
    MAX_TRANSACTIONS,
    LoggedTransaction,
    TransactionQuery,
)
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import FilterParameter, documented, filtered, whole_number
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.console.http.tenant_cursors import TenantCursors
from svc_pg.database.pagination import Page

_LISTED: Final[dict[str, FilterParameter[TransactionQuery]]] = {
    **asked(WHICH, TransactionQuery),
    **asked(SEARCHES, TransactionQuery),
    "limit": FilterParameter(
        lambda listed, text: listed.limit(whole_number(text)),
        "the size of a page",
        {
            "type": "integer",
            "examples": [20],
            "minimum": 1,
            "maximum": MAX_TRANSACTIONS,
            "default": DEFAULT_TRANSACTIONS,
        },
    ),
    "cursor": FilterParameter(TransactionQuery.after, "nextCursor of a page", text("eyJpIjo3fQ")),
}


@dataclass(frozen=True, slots=True)
class TransactionRoutes:
    """The handler, and the objects that it needs."""

    log: ConsoleLog
    cursors: TenantCursors

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The route."""
        return [
            ProductEndpoint(
                method="GET",
                path="/transactions",
                operation_id="transactions.list",
                handler=self._list,
                is_compressed=True,
                serves_tenants=True,
                summary="Transactions with what they changed, newest first",
                description="Each with its first entries that the filters select. A page looks at 1,000 entries, so"
                " that it may be short, or empty, and have a nextCursor. A transaction that ran beside others may have"
                " entries on several pages.",
                query=documented(_LISTED),
                response=Page[LoggedTransaction],
                errors={"not_supported": 422},
            )
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        if not self.log.has_past:
            detail = "This audit log is not on PostgreSQL, and its entries name no transaction."
            raise Problem(422, "not_supported", detail)
        session = request.session
        given = self.cursors.decrypted(session, request.query)
        listed = filtered(TransactionQuery(visible(session)), given, _LISTED)

        async def read(wanted: AuditQuery) -> Page[Entry]:
            return entries_for(session, await page_of(self.log, searchable(session, wanted)))

        return ConsoleResponse(200, self.cursors.encrypted(session, await listed.page(read)))
