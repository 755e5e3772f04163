"""The route of the product ``account`` that tells that something has changed."""

from svc_pg.console.audit_log.live_updates import LONGEST_SECONDS, TOPICS, Changes
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse

EVENT_STREAM = "text/event-stream"


def changes_route(changes: Changes) -> ProductEndpoint:
    """The route."""

    async def told(request: AuthenticatedRequest) -> ConsoleResponse:
        headers = {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"}  # or nginx would keep it back
        return ConsoleResponse(200, changes.stream(request.session.session_id), headers)

    return ProductEndpoint(
        method="GET",
        path="/changes",
        operation_id="changes.stream",
        handler=told,
        is_stream=True,
        summary=f"Events that name the topics that changed: {', '.join(TOPICS)}; for {LONGEST_SECONDS // 60} minutes",
        response=str,
        media_types=[EVENT_STREAM],
        errors={"too_many_streams": 429},
    )
