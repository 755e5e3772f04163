"""The steps of a magic link as queries: each is one function of ``sql/console``, which decides and records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.settings import Permission

State = Literal["pending", "verified", "claimed", "locked", "expired"]

_INIT: Final = """
select is_mailed, retry_after, now() as asked_at
  from svc.console_init(%(session_id)s, %(email)s, %(is_allowed)s, %(is_named)s, %(device_hash)s,
                        %(code_hash)s, %(decoy_hash)s, %(max_attempts)s, %(ip)s, %(user_agent)s, %(device)s)
"""
_OWNER: Final = """
select email, now() as asked_at from svc.console_magic_links where session_id = %s and device_hash = %s
"""
_CLAIM: Final = """
select svc.console_claim(%(session_id)s, %(device_hash)s, %(token_hash)s, %(permission)s, %(expires_at)s,
                         %(idle_timeout)s, %(ip)s, %(user_agent)s) as outcome
"""
SIGN_INS_OF: Final = "coalesce('init of ' || %s::text, 'init from ' || svc.console_network(%s))"
SIGN_INS_AROUND: Final = "'init from around ' || svc.console_network(%s, 48)"
MORE_AROUND: Final = 90
"""The sign-ins that a network of IPv6 of 48 bits may begin beyond those of one of its networks of 64 bits."""
CODES_OF: Final = """(
    select 'verify from ' || svc.console_network(%s)
      from svc.console_magic_links l where l.session_id = %s and not l.is_known_device
)"""
"""The keys under which ``console_init`` and ``console_verify`` count: of a device or an address, and of a sign-in."""

_CLAIMED: Final = statement("queries/console/claimed_session.sql")
MAIL_FAILED: Final = """
insert into svc.console_events (event, session_id, email, detail)
select 'mail_failed', session_id, email, %s from svc.console_magic_links where session_id = %s
"""


@dataclass(frozen=True, slots=True)
class Init:
    """The start of a sign-in: whether to mail the code, or in how many seconds this network may ask again."""

    is_mailed: bool
    retry_after: int | None
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Verify:
    """The outcome of a code; ``attempts_remaining`` is set if it was wrong."""

    outcome: str
    attempts_remaining: int | None
    retry_after: int | None


@dataclass(frozen=True, slots=True)
class Poll:
    """The state of a link; state and time are None if this device has no such link."""

    state: State | None
    expires_in: int | None
    retry_after: int | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a link, and the time."""

    email: str
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class MadeLink:
    """The end of a link that the shell made."""

    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """The outcome of a claim."""

    outcome: str


@dataclass(frozen=True, slots=True)
class ClaimedLink:
    """The session that a link became."""

    email: str
    permission: Permission
    token_hash: bytes
    created_at: datetime
    expires_at: datetime
    asked_at: datetime


def init(values: Mapping[str, object]) -> Query[Init]:
    """Begin a sign-in."""
    return Query(_INIT, values, Init)


def verify(
    session_id: UUID, device_hash: bytes, code_hashes: Sequence[bytes], *, ip: str | None, user_agent: str | None
) -> Query[Verify]:
    """Try a code, which may have been hashed under any of the keys."""
    values = (session_id, device_hash, list(code_hashes), ip, user_agent)
    # %b, because psycopg writes bytes in a list as a text that depends on standard_conforming_strings
    return Query("select * from svc.console_verify(%s, %s, %b, %s, %s)", values, Verify)


def poll(session_id: UUID, device_hash: bytes) -> Query[Poll]:
    """Ask for the state of a link."""
    return Query("select * from svc.console_poll(%s, %s)", (session_id, device_hash), Poll)


def owner(session_id: UUID, device_hash: bytes) -> Query[Owner]:
    """The owner of a link; no row if this device has no such link."""
    return Query(_OWNER, (session_id, device_hash), Owner)


def made(session_id: UUID, email: str, device_hash: bytes, decoy_hash: bytes, lifetime: timedelta) -> Query[MadeLink]:
    """A link for the shell, which needs no code."""
    values = (session_id, email, device_hash, decoy_hash, lifetime)
    return Query("select svc.console_link(%s, %s, %s, %s, %s) as expires_at", values, MadeLink)


def claim(values: Mapping[str, object]) -> Query[Claim]:
    """Turn a verified link into a session."""
    return Query(_CLAIM, values, Claim)


def claimed(session_id: UUID, device_hash: bytes) -> Query[ClaimedLink]:
    """The live session that this device claimed within the last two minutes."""
    return Query(_CLAIMED, (session_id, device_hash), ClaimedLink)
