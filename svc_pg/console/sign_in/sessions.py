"""The sessions that magic links became: found by their tokens, listed, and ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

from psycopg import AsyncConnection, Connection
from psycopg.rows import scalar_row

from svc_pg.console.tokens import TokenError, token_hash
from svc_pg.errors import QueryError
from svc_pg.pagination import Keyset, Listing, aware_time, decode
from svc_pg.query import Query, afetch, scalar
from svc_pg.settings import Permission

STATES: Final = {
    "live": "revoked_at is null and expires_at > now()",
    "ended": "(revoked_at is not null or expires_at <= now())",
}
"""The states to ask for, each with its condition."""

_SELECT: Final = """
select id::text as session_id, email, permission, host(ip) as ip, user_agent, created_at, expires_at, revoked_at,
       revoked_by
  from svc.console_sessions
"""
_REVOKE: Final = "select svc.console_revoke(%s)"


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A token's session in the database; ``retry_after`` is set if it makes too many calls."""

    id: UUID
    email: str
    permission: Permission
    expires_at: datetime
    retry_after: int | None


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session as administrators see it. It is live until it is revoked or expires."""

    session_id: str
    email: str
    permission: Permission
    ip: str | None
    user_agent: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None


@dataclass(frozen=True, slots=True)
class SessionQuery(Listing[StoredSession]):
    """A question about sessions. Every method returns a new one; ``list`` or ``alist`` asks it."""

    def state(self, state: str) -> Self:
        """Sessions that are live, or those that have ended."""
        if state not in STATES:
            raise QueryError(f"{state!r} is not a state", hint=f"Write one of {', '.join(STATES)}.")
        return self._where(STATES[state])


_NEWEST: Final = Keyset(
    select=_SELECT,
    row=StoredSession,
    order=" order by created_at desc, id desc",
    beyond="(created_at, id) < (%s, %s)",
    reverse_order=" order by created_at, id",
    before="(created_at, id) > (%s, %s)",
    key=lambda session: (session.created_at.isoformat(), session.session_id),
    read=lambda cursor: decode(cursor, aware_time, UUID),
)


def query() -> SessionQuery:
    """A question about sessions, with no conditions yet."""
    return SessionQuery(_NEWEST)


async def find_live(conn: AsyncConnection[Any], token: str) -> LiveSession:
    """The session of a token, whose call is counted. Raises TokenError if none is live."""
    found = await afetch(conn, Query("select * from svc.console_session(%s)", (token_hash(token),), LiveSession))
    if not found:
        raise TokenError("no live session has this token")
    return found[0]


def revoke(conn: Connection[Any], session_id: UUID) -> bool:
    """End a session, as the actor of the transaction; return whether there is one with this id. Never commits."""
    return bool(scalar(conn, _REVOKE, (session_id,)))


async def arevoke(conn: AsyncConnection[Any], session_id: UUID) -> bool:
    """As ``revoke``, on an async connection."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_REVOKE, (session_id,))
    return bool(await cursor.fetchone())
