"""The route of the product ``account`` for the console's own events."""

from typing import Final

from svc_pg.console.database.pool import Database
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.sessions import event_log
from svc_pg.console.sessions.event_log import ConsoleEvent, EventFilter
from svc_pg.database.pagination import Page

_FILTERS: Final = {**declared(EventFilter), **PAGE}


def events_route(database: Database) -> ProductEndpoint:
    """The route."""

    async def listed(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(event_log.query(), request.query, _FILTERS)
        async with database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    return ProductEndpoint(
        method="GET",
        path="/events",
        operation_id="console_events.list",
        handler=listed,
        is_compressed=True,
        required_permission="admin",
        summary="The events of the console, newest first: sign-ins, exports, refused calls, tokens, views",
        query=documented(_FILTERS),
        response=Page[ConsoleEvent],
    )
