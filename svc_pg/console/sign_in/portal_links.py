"""Links to the portal, and the sessions that they become: each sees the webhooks of one tenant alone."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from svc_pg.console.database.pool import Database
from svc_pg.console.http.quotas import CALLS
from svc_pg.console.http.requests import Problem, rate_limited
from svc_pg.console.http.tokens import Session, TokenError, token_hash
from svc_pg.console.sign_in import sessions
from svc_pg.console.sign_in.lifetimes import MADE_AT, MADE_BY, REVOKED_AT, REVOKED_BY
from svc_pg.console.sign_in.permissions import included
from svc_pg.database.query import Query, afetch
from svc_pg.database.storable_texts import refuse_tenant
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

GOOD_FOR: Final = timedelta(minutes=10)
"""The time in which a link can be opened."""
LIFETIME: Final = timedelta(hours=1)
LONGEST: Final = timedelta(days=1)
ACTOR_PREFIX: Final = "portal:"
"""The beginning of the actor id of a customer, which the tenant follows."""

_MAKE: Final = """
select svc.webhook_portal_link(%(id)s, %(tenant)s, %(hash)s, %(lifetime)s, %(good_for)s) as expires_at,
       svc.console_is_new_tenant(%(tenant)s) as is_new_tenant
"""
_WAITING: Final = """
select l.id::text, l.tenant, l.created_at, l.created_by, l.expires_at, l.session_lifetime as lasts
  from svc.console_portal_links l
 where l.opened_at is null and l.revoked_at is null and l.expires_at > now()
 order by l.created_at desc, l.id limit 1000
"""
_GET: Final = """
select l.id::text, l.tenant, l.created_at, l.created_by, l.expires_at, l.session_lifetime as lasts, l.opened_at,
       l.revoked_at, l.revoked_by, l.opened_at is null and l.revoked_at is null and l.expires_at > now() as is_waiting
  from svc.console_portal_links l where l.id = %s
"""
_IS_LINK: Final = "select exists (select from svc.console_portal_links where id = %s)"
_OPEN: Final = "select * from svc.webhook_open_portal(%s, %s, %s, %s, %s)"


LINK_ID: Final = Doc("The id of the link, and of the session that it becomes.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")


@dataclass(frozen=True, slots=True)
class NewPortalLink:
    """A link, whose token is shown only here. It can be opened until ``expires_at``; ``id`` is that of its session.

    ``is_new_tenant`` if nothing else in the database is of its tenant, whose name may be misspelt.
    """

    token: str
    id: UUID
    expires_at: datetime
    is_new_tenant: bool


@dataclass(frozen=True, slots=True)
class PendingPortalLink:
    """A link to the portal that nobody has opened yet."""

    id: Annotated[str, LINK_ID]
    tenant: Annotated[str, Doc("The tenant whose webhooks the customer may manage.", "acme")]
    created_at: Annotated[datetime, MADE_AT]
    created_by: Annotated[str, MADE_BY]
    expires_at: Annotated[datetime, Doc("The time until which it can be opened.")]
    lasts: Annotated[timedelta, Doc("The time for which its session lasts.", 3600.0)]


@dataclass(frozen=True, slots=True)
class PortalLink(PendingPortalLink):
    """A link to the portal in any state. Once it is opened, the session with its id tells more."""

    opened_at: Annotated[datetime | None, Doc("The time at which it was opened; null if it was not.")]
    revoked_at: Annotated[datetime | None, REVOKED_AT]
    revoked_by: Annotated[str | None, REVOKED_BY]
    is_waiting: Annotated[bool, Doc("True if it can still be opened.")]


@dataclass(frozen=True, slots=True)
class OpenedPortal:
    """The session that a link became; ``expires_in`` is in seconds."""

    token: str
    session_id: UUID
    tenant: str
    expires_in: int


def link(tenant: str, *, lifetime: timedelta = LIFETIME) -> Query[NewPortalLink]:
    """Make a link to the portal of a tenant, whose session lasts for ``lifetime``. Raises QueryError."""
    refuse_tenant(tenant)
    if not timedelta(minutes=1) <= lifetime <= LONGEST:
        raise QueryError("a session of the portal lasts between a minute and a day", hint="The default is 1h.")
    token, link_id = secrets.token_urlsafe(32), uuid4()
    values = {
        "id": link_id,
        "tenant": tenant,
        "hash": token_hash(token),
        "lifetime": lifetime,
        "good_for": GOOD_FOR,
    }
    return Query(_MAKE, values, partial(NewPortalLink, token, link_id))


def waiting() -> Query[PendingPortalLink]:
    """The links that nobody has opened yet, newest first, 1,000 at most: they last for ten minutes."""
    return Query(_WAITING, (), PendingPortalLink)


def get(link_id: UUID) -> Query[PortalLink]:
    """One link; no row if there is none with this id."""
    return Query(_GET, (link_id,), PortalLink)


async def arevoke(conn: AsyncConnection[Any], link_id: UUID) -> bool:
    """End a link or, if it was opened, its session; return whether there is a link with this id. Never commits."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_IS_LINK, (link_id,))
    return bool(await cursor.fetchone()) and await sessions.arevoke(conn, link_id)


async def open_link(
    conn: AsyncConnection[Any], token: str, *, idle_timeout: timedelta, ip: str | None, user_agent: str | None
) -> OpenedPortal:
    """Turn a link into a session, once. Raises Problem 410."""
    session_token = secrets.token_urlsafe(32)
    values = (token_hash(token), token_hash(session_token), idle_timeout, ip, user_agent)
    found = await afetch(conn, Query(_OPEN, values, partial(OpenedPortal, session_token)))
    if not found:
        raise Problem(410, "link_over", "This link was opened before or revoked, or its ten minutes are over.")
    return found[0]


async def session_of(database: Database, token: str, *, is_use: bool = True) -> Session:
    """The session of a token of the portal. Raises TokenError, and Problem 429 if it is used too often."""
    async with database.connection() as conn:
        live = await sessions.find_live(conn, token, is_use=is_use, is_read_only=database.is_read_only)
    if live.tenant is None or not live.email.startswith(ACTOR_PREFIX):
        raise TokenError("the session is none of the portal")
    if live.retry_after is not None:
        raise rate_limited(live.retry_after, CALLS)
    return Session(
        session_id=str(live.id),
        email=live.email,
        permissions=included(live.permission),
        expires_at=live.expires_at,
        tenant=live.tenant,
    )
