"""Sign-ins that the shell begins, for the day when there is no mail: a link, good for ten minutes, once."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

from psycopg import Connection

from svc_pg.console.sign_in import links
from svc_pg.console.sign_in.permissions import permission_of
from svc_pg.database.query import fetch_one
from svc_pg.errors import ConfigError
from svc_pg.settings import Permission, Settings
from svc_pg.settings.addresses import is_email

LIFETIME: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ShellLink:
    """A sign-in that has begun. ``token`` is the id of the session to be and the token of its device."""

    email: str
    permission: Permission
    token: str
    expires_at: datetime


def make(conn: Connection[Any], email: str, settings: Settings) -> ShellLink:
    """Begin a sign-in, as the actor of the transaction. Never commits.

    Raises ConfigError if the settings give the address no permission.
    """
    if settings.console_auto_approve:
        raise ConfigError("auto-approve is on, and lets everybody in on this machine", hint="Open the console's pages.")
    address = email.lower()
    permission = permission_of(address, settings.console_allowed_emails) if is_email(address) else None
    if permission is None:
        raise ConfigError(
            f"{email} may not sign in: SVC_CONSOLE_ALLOWED_EMAILS gives that address no permission",
            hint="Run this with the settings of the console.",
        )
    session_id, device_token = uuid4(), secrets.token_urlsafe(32)
    device_hash = sha256(device_token.encode()).digest()
    made = fetch_one(conn, links.made(session_id, address, device_hash, secrets.token_bytes(32), LIFETIME))
    return ShellLink(address, permission, f"{session_id}.{device_token}", made.expires_at)
