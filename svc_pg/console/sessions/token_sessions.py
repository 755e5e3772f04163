"""Programs that call the console: their tokens stand in the database, and say who calls."""

from typing import Final

from svc_pg.console.database.pool import Database
from svc_pg.console.http.bearer import Authenticate
from svc_pg.console.http.quotas import CALLS
from svc_pg.console.http.requests import rate_limited
from svc_pg.console.http.tokens import PROGRAM_PREFIX, Session
from svc_pg.console.sign_in import api_tokens
from svc_pg.console.sign_in.permissions import included

ACTOR_PREFIX: Final = "token:"
"""The beginning of a program's actor id, which its name follows. No e-mail address begins with it."""


def with_programs(people: Authenticate, database: Database) -> Authenticate:
    """Finds sessions of people as ``people`` does, and those of programs by their tokens."""

    async def authenticate(token: str, *, is_use: bool = True) -> Session:
        if not token.startswith(PROGRAM_PREFIX):
            return await people(token, is_use=is_use)
        async with database.connection() as conn:
            live = await api_tokens.find_live(conn, token, is_use=is_use, is_read_only=database.is_read_only)
        if live.retry_after is not None:
            raise rate_limited(live.retry_after, CALLS)
        return Session(
            session_id=str(live.id),
            email=f"{ACTOR_PREFIX}{live.name}",
            permissions=included(live.permission),
            expires_at=live.expires_at,
            tenant=live.tenant,
        )

    return authenticate
