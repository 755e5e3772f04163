"""The tokens of programs that call the console: made, found, listed and ended. Only their hashes are stored."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final, Self
from uuid import UUID, uuid4

from psycopg import AsyncConnection, Connection, errors
from psycopg.rows import scalar_row

from svc_pg.console.http.products import PERMISSIONS
from svc_pg.console.http.quotas import CALLS, note_counted
from svc_pg.console.http.tokens import PROGRAM_PREFIX, TokenError, token_hash
from svc_pg.console.sign_in.lifetimes import (
    ENDS_AT,
    IS_NEW_TENANT,
    LAST_USED_AT,
    MADE_AT,
    MADE_BY,
    PERMISSION,
    REVOKED_AT,
    REVOKED_BY,
    TENANT,
    condition,
    conditions,
    newest,
)
from svc_pg.database.pagination import Listing
from svc_pg.database.query import Query, afetch, afetch_one, fetch_one, scalar
from svc_pg.database.storable_texts import refuse_tenant
from svc_pg.errors import ConflictError, QueryError
from svc_pg.formats.doc import Doc
from svc_pg.settings import Permission

LIFETIME: Final = timedelta(days=90)
LONGEST: Final = timedelta(days=3650)
_STATES: Final = conditions("t", "t.expires_at")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SELECT: Final = """
select t.id::text, t.name, t.permission, t.tenant, t.created_at, t.created_by, t.expires_at, u.used_at as last_used_at,
       t.revoked_at, t.revoked_by
  from svc.console_tokens t left join svc.console_uses u on u.id = t.id
"""
_ADD: Final = """
select id::text, name, permission, tenant, created_at, created_by, expires_at, null::timestamptz as last_used_at,
       revoked_at, revoked_by, svc.console_is_new_tenant(tenant) as is_new_tenant
  from svc.console_add_token(%s, %s, %s, %s, %s, %s)
"""
_FIND: Final = "select * from svc.console_token(%s, %s)"
_LOOK: Final = """
select t.id, t.name, t.permission, t.tenant, t.expires_at, null::integer as retry_after
  from svc.console_tokens t
 where t.token_hash = %s and """ + _STATES["live"]
_REVOKE: Final = "select svc.console_revoke_token(%s)"


TOKEN_ID: Final = Doc("The id of the token.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token of a program, as administrators see it. It is live until it is revoked or expires."""

    id: Annotated[str, TOKEN_ID]
    name: Annotated[str, Doc("Its name; the actor of its changes is `token:name`.", "nightly-report")]
    permission: Annotated[Permission, PERMISSION]
    tenant: Annotated[str | None, TENANT]
    created_at: Annotated[datetime, MADE_AT]
    created_by: Annotated[str, MADE_BY]
    expires_at: Annotated[datetime, ENDS_AT]
    last_used_at: Annotated[datetime | None, LAST_USED_AT]
    revoked_at: Annotated[datetime | None, REVOKED_AT]
    revoked_by: Annotated[str | None, REVOKED_BY]


@dataclass(frozen=True, slots=True)
class CreatedToken(ApiToken):
    """A token that was just made."""

    token: Annotated[
        str, Doc("The token itself, which is shown only here: `Authorization: Bearer` carries it.", "svcpg_3q2-7w")
    ]
    is_new_tenant: Annotated[bool, IS_NEW_TENANT]


@dataclass(frozen=True, slots=True)
class LiveToken:
    """A token's row in the database; ``retry_after`` is set if it makes too many calls."""

    id: UUID
    name: str
    permission: Permission
    tenant: str | None
    expires_at: datetime
    retry_after: int | None


@dataclass(frozen=True, slots=True)
class TokenQuery(Listing[ApiToken]):
    """A query of tokens. Every method returns a new one; ``list`` or ``alist`` runs it."""

    def state(self, state: str) -> Self:
        """Tokens that are live, or those that have ended."""
        return self._where(condition(state, _STATES))

    def named(self, name_or_id: str) -> Self:
        """The token with this id, or the one that is not revoked with this name."""
        try:
            return self._where("t.id = %s", UUID(name_or_id))
        except ValueError:
            return self._where("t.name = %s and t.revoked_at is null", name_or_id)

    def called(self, name: str) -> Self:
        """Tokens with this name."""
        return self._where("t.name = %s", name)


_NEWEST: Final = newest("t", _SELECT, ApiToken, lambda token: (token.created_at.isoformat(), token.id))


def query() -> TokenQuery:
    """A query of tokens, with no conditions yet."""
    return TokenQuery(_NEWEST)


def add(
    conn: Connection[Any],
    name: str,
    *,
    permission: Permission,
    tenant: str | None = None,
    lifetime: timedelta = LIFETIME,
) -> CreatedToken:
    """Make a token, as the actor of the transaction. Never commits.

    Raises ConflictError if a live token has the name, and QueryError if a value is not acceptable.
    """
    with _explained(name):
        return fetch_one(conn, _add(name, permission, tenant, lifetime))


async def aadd(
    conn: AsyncConnection[Any],
    name: str,
    *,
    permission: Permission,
    tenant: str | None = None,
    lifetime: timedelta = LIFETIME,
) -> CreatedToken:
    """As ``add``, on an async connection."""
    with _explained(name):
        return await afetch_one(conn, _add(name, permission, tenant, lifetime))


async def ais_taken(conn: AsyncConnection[Any], name: str) -> bool:
    """True if a live token has the name, so that no other can get it."""
    return bool((await query().state("live").called(name).limit(1).alist(conn)).data)


def _add(name: str, permission: Permission, tenant: str | None, lifetime: timedelta) -> Query[CreatedToken]:
    if not _NAME.fullmatch(name):
        hint = "Write up to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or a digit."
        raise QueryError(f"{name!r} cannot be the name of a token", hint=hint)
    if permission not in PERMISSIONS:
        raise QueryError(f"{permission!r} is not a permission", hint=f"Write one of {', '.join(PERMISSIONS)}.")
    if not timedelta(seconds=1) <= lifetime <= LONGEST:
        raise QueryError("a token lasts between a second and 3650 days", hint="The default is 90d.")
    if tenant is not None:
        refuse_tenant(tenant)
    token = PROGRAM_PREFIX + secrets.token_urlsafe(32)
    values = (uuid4(), name, permission, tenant, token_hash(token), lifetime)
    return Query(_ADD, values, partial(CreatedToken, token=token))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except errors.UniqueViolation as error:
        raise ConflictError(f"a live token has the name {name!r}", hint="Revoke it first, or take another.") from error


async def find_live(
    conn: AsyncConnection[Any], token: str, *, is_use: bool = True, is_read_only: bool = False
) -> LiveToken:
    """The row of a token; its call is counted, and noted if it ``is_use``. Raises TokenError if none is live.

    If it ``is_read_only``, nothing is counted or noted.
    """
    hashed = token_hash(token)
    noting = Query(_FIND, (hashed, is_use), LiveToken)
    found = await afetch(conn, Query(_LOOK, (hashed,), LiveToken) if is_read_only else noting)
    if not found:
        raise TokenError("no program has this token, or it has ended")
    if not is_read_only:
        await note_counted(conn, CALLS, "'calls of ' || %s::text", found[0].id)
    return found[0]


def revoke(conn: Connection[Any], name_or_id: str) -> bool:
    """End a token, as the actor of the transaction; return whether there is one. Never commits."""
    return any(scalar(conn, _REVOKE, (token.id,)) for token in query().named(name_or_id).list(conn))


async def arevoke(conn: AsyncConnection[Any], token_id: UUID) -> bool:
    """As ``revoke`` by its id, on an async connection."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_REVOKE, (token_id,))
    return bool(await cursor.fetchone())
