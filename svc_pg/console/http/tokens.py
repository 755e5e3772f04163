"""Sign and verify the session tokens of the console: JSON Web Tokens (RFC 7519), HS256 only."""

import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Annotated, Final, Literal
from uuid import UUID, uuid4

import jwt
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from svc_pg.formats.doc import Doc
from svc_pg.settings import Permission

SignInMethod = Literal["auto_approve", "magic_link"]

ISSUER = "svc-pg"
AUDIENCE = "svc-console"
TYPE = "svc-console+jwt"
PROGRAM_PREFIX: Final = "svcpg_"
"""The beginning of the token of a program, by which it is told from a session's, and found where it should not be."""
CLOCK_DIFFERENCE_SECONDS: Final = 60
"""The time that the clock of the signing machine may be ahead of that of the verifying one."""

_ALGORITHM = "HS256"
_REQUIRED = ["iss", "aud", "sub", "iat", "exp", "jti"]


class TokenError(Exception):
    """A session token is not acceptable. The message says why, for a log, and never contains the token."""


@dataclass(frozen=True, slots=True)
class Session:
    """The person who makes a request, and their permissions.

    A session with a ``tenant`` reaches only the routes that serve tenants, and there only what is that tenant's.
    """

    session_id: Annotated[str, Doc("The id of the session.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")]
    email: Annotated[str, Doc("The address of its person, or the name of its program.", "ann@corp.example")]
    permissions: Annotated[tuple[Permission, ...], Doc("The permissions that it has.", ["read", "write"])]
    expires_at: Annotated[datetime, Doc("The time of its end.")]
    tenant: Annotated[str | None, Doc("The only tenant that it reaches; null if it reaches all.", "acme")] = None


class _Claims(BaseModel):
    """``expiresAt`` equals ``exp`` (seconds since 1970), ``sub`` equals ``email``, ``amr`` is the sign-in method."""

    model_config = ConfigDict(strict=True, alias_generator=to_camel, populate_by_name=True)

    iss: str = ISSUER
    aud: str = AUDIENCE
    sub: str
    iat: int
    exp: int
    jti: str
    amr: list[str]
    session_id: str
    email: str
    permissions: list[Permission]
    expires_at: int


def new_connection_token() -> tuple[str, str]:
    """A random connection token, to be shown once, and the ``sha256:<hex>`` of it, which the settings hold.

    No request carries the token. The hash, and so the key, can be made again from it.
    """
    raw = secrets.token_urlsafe(32)
    return raw, f"sha256:{sha256(raw.encode()).hexdigest()}"


def issue(
    key: bytes,
    *,
    email: str,
    permissions: Sequence[Permission],
    lifetime: timedelta,
    method: SignInMethod,
    session_id: UUID | None = None,
    now: datetime | None = None,
) -> str:
    """A signed token of a session that ends after ``lifetime``; without ``session_id`` and ``now``, of a new one.

    Equal arguments make equal tokens.
    """
    session = str(session_id or uuid4())
    issued_at = int(time.time() if now is None else now.timestamp())
    expires_at = issued_at + int(lifetime.total_seconds())
    claims = _Claims(
        sub=email,
        iat=issued_at,
        exp=expires_at,
        jti=session,  # a session has one token
        amr=[method],
        session_id=session,
        email=email,
        permissions=list(permissions),
        expires_at=expires_at,
    )
    header = {"typ": TYPE, "kid": key_id(key)}
    return jwt.encode(claims.model_dump(by_alias=True), key, algorithm=_ALGORITHM, headers=header)


def is_own(token: str) -> bool:
    """True if this says that it is a token of the console, right or wrong; another may be the application's own."""
    if token.startswith(PROGRAM_PREFIX):
        return True
    try:
        return jwt.get_unverified_header(token).get("typ") == TYPE
    except (jwt.PyJWTError, RecursionError):
        return False


def token_hash(token: str) -> bytes:
    """The hash of a token, which is all that the database keeps of it."""
    return sha256(token.encode()).digest()


def verify(token: str, key: bytes, *, method: SignInMethod) -> Session:
    """The session of a token that this key signed for this sign-in method. Raises TokenError."""
    if not _is_canonical(token):
        raise TokenError("the token is not three parts of canonical base64url")
    try:
        decoded = jwt.decode_complete(
            token,
            key,
            algorithms=[_ALGORITHM],
            issuer=ISSUER,
            audience=AUDIENCE,
            options={"require": _REQUIRED, "strict_aud": True, "verify_iat": False},
        )
        claims = _Claims.model_validate(decoded["payload"])
    except (jwt.PyJWTError, OverflowError, RecursionError) as error:
        raise TokenError(type(error).__name__) from error  # its text may repeat what the token says
    except ValidationError as error:
        raise TokenError("the claims have unexpected types") from error
    if decoded["header"].get("typ") != TYPE:
        raise TokenError("the token has another type")
    if (claims.expires_at, claims.email) != (claims.exp, claims.sub):
        raise TokenError("the claims contradict each other")
    if claims.iat > time.time() + CLOCK_DIFFERENCE_SECONDS:
        raise TokenError("the token was issued in the future")
    if claims.amr != [method]:
        raise TokenError("the token is of another sign-in method")
    try:
        expires_at = datetime.fromtimestamp(claims.exp, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise TokenError("the token expires at a time that no calendar has") from error
    return Session(
        session_id=claims.session_id,
        email=claims.email,
        permissions=tuple(claims.permissions),
        expires_at=expires_at,
    )


def verify_any(token: str, keys: Sequence[bytes], *, method: SignInMethod) -> Session:
    """As ``verify``, with the key that the token names; with the first, if it names none of these."""
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except (jwt.PyJWTError, RecursionError):
        kid = None
    key = next((key for key in keys if key_id(key) == kid), keys[0])
    return verify(token, key, method=method)


def signed_email(token: str, keys: Sequence[bytes]) -> str:
    """The address in a token that one of these keys signed, also if its session has ended; else empty.

    It lets nobody in: it tells whose session it was.
    """
    for key in keys:
        with suppress(jwt.PyJWTError, RecursionError):
            decoded = jwt.decode(
                token,
                key,
                algorithms=[_ALGORITHM],
                issuer=ISSUER,
                audience=AUDIENCE,
                options={"verify_exp": False, "verify_iat": False},
            )
            return str(decoded.get("email", ""))
    return ""


def key_id(key: bytes) -> str:
    """The name of a key in the header of its tokens."""
    return sha256(key).hexdigest()[:16]


def _is_canonical(token: str) -> bool:
    """One signed content has one spelling; otherwise a token could differ from the one whose hash was stored."""
    parts = token.split(".")
    return len(parts) == 3 and all(_is_base64url(part) for part in parts)


def _is_base64url(part: str) -> bool:
    try:
        decoded = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return False
    return urlsafe_b64encode(decoded).rstrip(b"=").decode() == part
