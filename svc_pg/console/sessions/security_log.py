"""Events of sessions beside sign-in, in ``svc.console_events``: exports, and calls that a session may not make.

A console that only reads writes them to the log of the program.
"""

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final
from uuid import UUID

from psycopg import Error

from svc_pg.console.database.pool import Database
from svc_pg.console.http.background import Background
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleRequest, Problem
from svc_pg.console.http.tokens import Session
from svc_pg.console.sessions.event_log import EventName
from svc_pg.console.transport.client_addresses import user_agent
from svc_pg.formats.json_writer import encode

SHUTDOWN_SECONDS: Final = 2

_MOST_AT_ONCE: Final = 100
_TOLD: Final = ("session", "email", "ip", "user_agent", "detail")
_DETAIL_LENGTH: Final = 2000
_EXPORTED: Final = """
insert into svc.console_events (event, session_id, email, ip, user_agent, detail)
values ('log_exported', %(session_id)s, %(email)s, %(ip)s, %(user_agent)s, %(detail)s)
"""
_REFUSED: Final = """
insert into svc.console_events (event, session_id, email, ip, user_agent, detail)
select 'call_refused', %(session_id)s, %(email)s, %(ip)s, %(user_agent)s, %(detail)s
 where svc.console_hit('refusals of ' || %(session)s, 30, '1 min') is null
"""

logger = logging.getLogger("svc_pg.console")


async def record_export(database: Database, request: AuthenticatedRequest) -> None:
    """Record an export before it begins. Raises Problem if that is not possible, and then there is none."""
    values = _values(request, request.session)
    if database.is_read_only:
        _log("log_exported", values)
        return
    async with database.connection() as conn:
        await conn.execute(_EXPORTED, values)


class Refusals:
    """Records refused calls in the background, so that no answer waits for it: 30 a minute for each session."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._recording = Background(shutdown_seconds=SHUTDOWN_SECONDS)

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Wait, at the end of the block, for refusals that are being recorded."""
        return self._recording.opened()

    def record(self, request: ConsoleRequest, session: Session) -> None:
        """Record that the session lacked the permission for a call."""
        if self._database.is_read_only:
            _log("call_refused", _values(request, session))
        elif len(self._recording) < _MOST_AT_ONCE:
            self._recording.start(self._record(request, session))

    async def _record(self, request: ConsoleRequest, session: Session) -> None:
        try:
            async with self._database.connection() as conn:
                await conn.execute(_REFUSED, _values(request, session))
        except (Problem, Error) as error:
            logger.warning("request %s: its refusal was not recorded: %s", request.request_id, type(error).__name__)


def _log(event: EventName, values: Mapping[str, object]) -> None:
    """Tell the log of the program, because a console that only reads stores nothing."""
    logger.info("%s: %s", event, encode({name: values[name] for name in _TOLD}).decode())


def _values(request: ConsoleRequest, session: Session) -> dict[str, object]:
    return {
        "session": session.session_id,
        "session_id": _uuid(session.session_id),
        "email": session.email,
        "ip": request.client,
        "user_agent": user_agent(request),
        "detail": f"{request.method} {request.path}?{request.query}".removesuffix("?")[:_DETAIL_LENGTH],
    }


def _uuid(session_id: str) -> UUID | None:
    """None for a session of the application's own, whose ids may be any text."""
    try:
        return UUID(session_id)
    except ValueError:
        return None
