"""The product ``account``: the user's own sessions; the system; for administrators all sessions, tokens and events."""

from typing import Final
from uuid import UUID

from svc_pg.config import Config
from svc_pg.console.audit_log import AuditLog
from svc_pg.console.built_in.account_changes import changes_route
from svc_pg.console.built_in.account_events import events_route
from svc_pg.console.built_in.account_system import system_route
from svc_pg.console.built_in.account_tokens import TokenRoutes
from svc_pg.console.changes import Changes
from svc_pg.console.database import Database
from svc_pg.console.documentation import one_of
from svc_pg.console.parameters import PAGE, PAGE_BYTES, FilterParameter, documented, filtered
from svc_pg.console.products import Product, ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.console.sign_in import sessions
from svc_pg.console.sign_in.lifetimes import STATES
from svc_pg.console.sign_in.sessions import SessionQuery, StoredSession
from svc_pg.console.tokens import Session
from svc_pg.pagination import Page

_FILTERS: Final[dict[str, FilterParameter[SessionQuery]]] = {
    "state": FilterParameter(SessionQuery.state, "sessions that are live, or have ended", one_of(list(STATES))),
    **PAGE,
}


def account_product(database: Database, log: AuditLog, *, config: Config) -> Product:
    """The product, for sessions in this database, which should be as ``config`` says."""

    async def own(request: AuthenticatedRequest) -> ConsoleResponse:
        return ConsoleResponse(200, request.session)

    async def log_out(request: AuthenticatedRequest) -> ConsoleResponse:
        try:
            session_id = UUID(request.session.session_id)
        except ValueError as error:
            detail = "This session is the application's own; sign out there."
            raise Problem(409, "session_not_stored", detail) from error
        async with database.acting(request) as conn:
            is_known = await sessions.arevoke(conn, session_id)
        if not is_known:
            raise Problem(409, "session_not_stored", "A session that is not stored cannot be ended; forget its token.")
        return ConsoleResponse(204)

    async def listed(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(sessions.query(), request.query, _FILTERS)
        async with database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def listed_own(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(sessions.query().email(request.session.email), request.query, _FILTERS)
        async with database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def revoke_own(request: AuthenticatedRequest) -> ConsoleResponse:
        session_id = _id(request.params["id"])
        async with database.acting(request) as conn:
            is_own = await sessions.ais_of(conn, session_id, request.session.email)
            if not is_own or not await sessions.arevoke(conn, session_id):
                raise _unknown()
        return ConsoleResponse(204)

    async def revoke(request: AuthenticatedRequest) -> ConsoleResponse:
        async with database.acting(request) as conn:
            is_known = await sessions.arevoke(conn, _id(request.params["id"]))
        if not is_known:
            raise _unknown()
        return ConsoleResponse(204)

    return Product(
        id="account",
        name="Account",
        endpoints=[
            ProductEndpoint(
                method="GET",
                path="/session",
                handler=own,
                serves_tenants=True,
                summary="The user's own session and permission",
                response=Session,
            ),
            ProductEndpoint(
                method="DELETE",
                path="/session",
                handler=log_out,
                serves_tenants=True,
                summary="Sign out",
                status=204,
                errors={"session_not_stored": 409},
            ),
            ProductEndpoint(
                method="GET",
                path="/own-sessions",
                handler=listed_own,
                summary="The user's own sessions, newest first",
                query=documented(_FILTERS),
                response=Page[StoredSession],
            ),
            ProductEndpoint(
                method="DELETE",
                path="/own-sessions/:id",
                handler=revoke_own,
                summary="End one of the user's own sessions",
                status=204,
                errors={"unknown_session": 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/sessions",
                handler=listed,
                required_permission="admin",
                summary="Everybody's sessions, newest first",
                query=documented(_FILTERS),
                response=Page[StoredSession],
            ),
            ProductEndpoint(
                method="DELETE",
                path="/sessions/:id",
                handler=revoke,
                required_permission="admin",
                summary="End a session",
                status=204,
                errors={"unknown_session": 404},
            ),
            *TokenRoutes(database).endpoints(),
            events_route(database),
            system_route(database, config),
            changes_route(Changes(database, log)),
        ],
    )


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise _unknown() from error


def _unknown() -> Problem:
    return Problem(404, "unknown_session", "No session has this id.")
