"""The sessions that magic links became: found by their tokens, listed, and ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Self
from uuid import UUID

from psycopg import AsyncConnection, Connection
from psycopg.rows import scalar_row

from svc_pg.console.http.quotas import CALLS, note_counted
from svc_pg.console.http.tokens import TokenError, token_hash
from svc_pg.console.sign_in.lifetimes import (
    LAST_USED_AT,
    MADE_AT,
    PERMISSION,
    REVOKED_AT,
    REVOKED_BY,
    TENANT,
    condition,
    conditions,
    newest,
)
from svc_pg.database.pagination import Listing
from svc_pg.database.query import Query, afetch, scalar
from svc_pg.formats.doc import Doc
from svc_pg.settings import Permission

_ENDS_AT: Final = "least(s.expires_at, coalesce(u.used_at, s.created_at) + s.idle_timeout)"
_STATES: Final = conditions("s", _ENDS_AT)

_SELECT: Final = (
    """
select s.id::text as session_id, s.email, s.permission, s.tenant, host(s.ip) as ip, s.user_agent, s.created_at,
       u.used_at as last_used_at, """
    + _ENDS_AT
    + """ as expires_at, s.revoked_at, s.revoked_by
  from svc.console_sessions s left join svc.console_uses u on u.id = s.id
"""
)
_FIND: Final = "select * from svc.console_session(%s, %s)"
_LOOK: Final = """
select s.id, s.email, s.permission, s.tenant, s.expires_at, null::integer as retry_after
  from svc.console_sessions s left join svc.console_uses u on u.id = s.id
 where s.token_hash = %s and """ + _STATES["live"]
_IS_OF: Final = "select exists (select from svc.console_sessions where id = %s and email = %s)"
_REVOKE: Final = "select svc.console_revoke(%s)"


SESSION_ID: Final = Doc("The id of the session.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A token's session in the database; ``retry_after`` is set if it makes too many calls."""

    id: UUID
    email: str
    permission: Permission
    tenant: str | None
    expires_at: datetime
    retry_after: int | None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as administrators and its own person see it. It is live until it is revoked or expires."""

    session_id: Annotated[str, SESSION_ID]
    email: Annotated[str, Doc("The address of its person.", "ann@corp.example")]
    permission: Annotated[Permission, PERMISSION]
    tenant: Annotated[str | None, TENANT]
    ip: Annotated[str | None, Doc("The address from which it was begun; null if it is not known.", "203.0.113.7")]
    user_agent: Annotated[
        str | None, Doc("The browser from which it was begun; null if it is not known.", "Mozilla/5.0")
    ]
    created_at: Annotated[datetime, MADE_AT]
    last_used_at: Annotated[datetime | None, LAST_USED_AT]
    expires_at: Annotated[datetime, Doc("The time of its end, which comes earlier if it is not used any more.")]
    revoked_at: Annotated[datetime | None, REVOKED_AT]
    revoked_by: Annotated[str | None, REVOKED_BY]


@dataclass(frozen=True, slots=True)
class SessionQuery(Listing[SessionRecord]):
    """A query of sessions. Every method returns a new one; ``list`` or ``alist`` runs it."""

    def state(self, state: str) -> Self:
        """Sessions that are live, or those that have ended."""
        return self._where(condition(state, _STATES))

    def id(self, session_id: UUID) -> Self:
        """One session."""
        return self._where("s.id = %s", session_id)

    def email(self, email: str) -> Self:
        """Sessions of one person."""
        return self._where("s.email = %s", email)


_NEWEST: Final = newest(
    "s", _SELECT, SessionRecord, lambda session: (session.created_at.isoformat(), session.session_id)
)


def query() -> SessionQuery:
    """A query of sessions, with no conditions yet."""
    return SessionQuery(_NEWEST)


async def find_live(
    conn: AsyncConnection[Any], token: str, *, is_use: bool = True, is_read_only: bool = False
) -> LiveSession:
    """The session of a token; its call is counted, and noted if it ``is_use``. Raises TokenError if none is live.

    If it ``is_read_only``, nothing is counted or noted.
    """
    hashed = token_hash(token)
    noting = Query(_FIND, (hashed, is_use), LiveSession)
    found = await afetch(conn, Query(_LOOK, (hashed,), LiveSession) if is_read_only else noting)
    if not found:
        raise TokenError("no live session has this token")
    if not is_read_only:
        await note_counted(conn, CALLS, "'calls of ' || %s::text", found[0].id)
    return found[0]


def revoke(conn: Connection[Any], session_id: UUID) -> bool:
    """End a session, or a link to the portal that is to become one, as the actor of the transaction.

    Return whether there is one with this id. Never commits.
    """
    return bool(scalar(conn, _REVOKE, (session_id,)))


async def ais_of(conn: AsyncConnection[Any], session_id: UUID, email: str) -> bool:
    """True if the session is of this person."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_IS_OF, (session_id, email))
    return bool(await cursor.fetchone())


async def arevoke(conn: AsyncConnection[Any], session_id: UUID) -> bool:
    """As ``revoke``, on an async connection."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_REVOKE, (session_id,))
    return bool(await cursor.fetchone())
