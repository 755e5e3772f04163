"""End all that lets somebody in for one tenant: links to the portal, sessions, and the tokens of programs."""

from typing import Any, Final

from psycopg import AsyncConnection

# links first: one that is being opened has become a session then
_END: Final = (
    "update svc.console_portal_links set expires_at = now() where tenant = %s and opened_at is null",
    """
select svc.console_revoke(s.id) from svc.console_sessions s
 where s.tenant = %s and s.revoked_at is null and s.expires_at > now()
""",
    "select svc.console_revoke_token(t.id) from svc.console_tokens t where t.tenant = %s and t.revoked_at is null",
)


async def aend_access(conn: AsyncConnection[Any], tenant: str) -> None:
    """End all of this tenant, as the actor of the transaction."""
    for statement in _END:
        await conn.execute(statement, [tenant])
