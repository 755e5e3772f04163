"""Routes of the product ``account`` for sessions: the user's own, and for administrators everybody's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import in_path
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.console.http.tokens import Session
from svc_pg.console.sign_in import sessions
from svc_pg.console.sign_in.lifetimes import LifeFilter
from svc_pg.console.sign_in.sessions import SESSION_ID, SessionQuery, SessionRecord
from svc_pg.database.pagination import Page

_FILTERS: Final = {**declared(LifeFilter), **PAGE}


OF_SESSION: Final = (in_path(SESSION_ID),)


@dataclass(frozen=True, slots=True)
class SessionRoutes:
    """The handlers, and the database with the sessions."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/session",
                operation_id="session.get",
                handler=self._own,
                serves_tenants=True,
                summary="The user's own session and permission",
                response=Session,
            ),
            ProductEndpoint(
                method="DELETE",
                path="/session",
                operation_id="session.delete",
                handler=self._log_out,
                serves_tenants=True,
                summary="Sign out",
                status=204,
                errors={"session_not_stored": 409},
            ),
            ProductEndpoint(
                method="GET",
                path="/own-sessions",
                operation_id="own_sessions.list",
                handler=self._list_own,
                is_compressed=True,
                summary="The user's own sessions, newest first",
                query=documented(_FILTERS),
                response=Page[SessionRecord],
            ),
            ProductEndpoint(
                method="GET",
                path="/own-sessions/:id",
                operation_id="own_sessions.get",
                path_parameters=OF_SESSION,
                handler=self._get_own,
                summary="One of the user's own sessions",
                response=SessionRecord,
                errors={"unknown_session": 404},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/own-sessions/:id",
                operation_id="own_sessions.revoke",
                path_parameters=OF_SESSION,
                handler=self._revoke_own,
                summary="End one of the user's own sessions",
                status=204,
                errors={"unknown_session": 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/sessions",
                operation_id="sessions.list",
                handler=self._list,
                is_compressed=True,
                required_permission="admin",
                summary="Everybody's sessions, newest first",
                query=documented(_FILTERS),
                response=Page[SessionRecord],
            ),
            ProductEndpoint(
                method="GET",
                path="/sessions/:id",
                operation_id="sessions.get",
                path_parameters=OF_SESSION,
                handler=self._get,
                required_permission="admin",
                summary="One session",
                response=SessionRecord,
                errors={"unknown_session": 404},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/sessions/:id",
                operation_id="sessions.revoke",
                path_parameters=OF_SESSION,
                handler=self._revoke,
                required_permission="admin",
                summary="End a session",
                status=204,
                errors={"unknown_session": 404},
            ),
        ]

    async def _own(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return ConsoleResponse(200, request.session)

    async def _log_out(self, request: AuthenticatedRequest) -> ConsoleResponse:
        try:
            session_id = UUID(request.session.session_id)
        except ValueError as error:
            detail = "This session is the application's own; sign out there."
            raise Problem(409, "session_not_stored", detail) from error
        async with self.database.acting(request) as conn:
            is_known = await sessions.arevoke(conn, session_id)
        if not is_known:
            raise Problem(409, "session_not_stored", "A session that is not stored cannot be ended; forget its token.")
        return ConsoleResponse(204)

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return await self._page(request, sessions.query())

    async def _list_own(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return await self._page(request, sessions.query().email(request.session.email))

    async def _page(self, request: AuthenticatedRequest, found: SessionQuery) -> ConsoleResponse:
        wanted = filtered(found, request.query, _FILTERS)
        async with self.database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return await self._one(request, sessions.query())

    async def _get_own(self, request: AuthenticatedRequest) -> ConsoleResponse:
        return await self._one(request, sessions.query().email(request.session.email))

    async def _one(self, request: AuthenticatedRequest, found: SessionQuery) -> ConsoleResponse:
        wanted = found.id(request.uuid(unknown=_unknown()))
        async with self.database.connection() as conn:
            for session in await wanted.alist(conn):
                return ConsoleResponse(200, session)
        raise _unknown()

    async def _revoke_own(self, request: AuthenticatedRequest) -> ConsoleResponse:
        session_id = request.uuid(unknown=_unknown())
        async with self.database.acting(request) as conn:
            is_own = await sessions.ais_of(conn, session_id, request.session.email)
            if not is_own or not await sessions.arevoke(conn, session_id):
                raise _unknown()
        return ConsoleResponse(204)

    async def _revoke(self, request: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.acting(request) as conn:
            is_known = await sessions.arevoke(conn, request.uuid(unknown=_unknown()))
        if not is_known:
            raise _unknown()
        return ConsoleResponse(204)


def _unknown() -> Problem:
    return Problem(404, "unknown_session", "No session has this id.")
