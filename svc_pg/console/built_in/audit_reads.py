"""The routes of reads: who read records of a table, or one record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.audit.read.read_list import RecordRead, reads
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import TIMES
from svc_pg.console.built_in.audit_lookup import OF_RECORD, OF_TABLE
from svc_pg.console.built_in.audit_past import past_problems
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, FilterParameter, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.http.tenant_cursors import TenantCursors
from svc_pg.database.pagination import Page

_LIST: Final[dict[str, FilterParameter[Any]]] = {**TIMES, **{name: PAGE[name] for name in ("limit", "cursor")}}
_ERRORS: Final = {"unknown_table": 404, "not_supported": 422}


@dataclass(frozen=True, slots=True)
class ReadRoutes:
    """The handlers, and the objects that they need."""

    log: ConsoleLog
    cursors: TenantCursors

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/reads",
                operation_id="records.reads",
                path_parameters=OF_RECORD,
                handler=self._reads,
                is_compressed=True,
                serves_tenants=True,
                summary="The reads of one record, the newest first, if those of its table are recorded",
                query=documented(_LIST),
                response=Page[RecordRead],
                errors=_ERRORS,
            ),
            ProductEndpoint(
                method="GET",
                path="/tables/:table/reads",
                operation_id="tables.reads",
                path_parameters=OF_TABLE,
                handler=self._reads,
                is_compressed=True,
                serves_tenants=True,
                summary="The reads of records of a table, the newest first, if these are recorded",
                query=documented(_LIST),
                response=Page[RecordRead],
                errors=_ERRORS,
            ),
        ]

    async def _reads(self, request: AuthenticatedRequest) -> ConsoleResponse:
        given = self.cursors.decrypted(request.session, request.query)
        with past_problems(request):
            found = reads(request.params["table"], request.params.get("id")).tenant(request.session.tenant)
        wanted = filtered(found, given, _LIST)
        async with self.log.past(request.session) as conn:
            page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, self.cursors.encrypted(request.session, page))
