"""The product ``audit``: read the audit log."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from psycopg import AsyncConnection

from svc_pg.audit.log import AuditQuery, query
from svc_pg.console.parameters import filtered, moment, whole_number
from svc_pg.console.products import Product, ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse

_FILTERS: dict[str, Callable[[AuditQuery, str], AuditQuery]] = {
    "resource": AuditQuery.resource,
    "record": AuditQuery.record,
    "actor": AuditQuery.actor,
    "operation": AuditQuery.operation,
    "since": lambda builder, value: builder.since(moment(value)),
    "until": lambda builder, value: builder.until(moment(value)),
    "limit": lambda builder, value: builder.limit(whole_number(value)),
    "cursor": AuditQuery.after,
}


def audit_product(connection: Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]) -> Product:
    """The product, reading through connections that ``connection()`` opens."""

    async def entries(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(query(), request.query, _FILTERS)
        async with connection() as conn:
            page = await wanted.alist(conn)
        return ConsoleResponse(200, {"data": page.entries, "nextCursor": page.next_cursor})

    return Product(
        id="audit",
        name="Audit log",
        endpoints=[ProductEndpoint(method="GET", path="/entries", handler=entries)],
    )
