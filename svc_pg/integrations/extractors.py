"""Find the actor of a request: in its bearer token, a header or a cookie, or by a function of the host."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.cookies import SimpleCookie
from typing import Any, Final, Protocol
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

from svc_pg.audit.context import Actor, Id
from svc_pg.errors import ConfigError

ACTOR_HEADER: Final = "x-svc-audit-actor-id"
"""The header in which a gateway sends the actor. It is dropped unless ``from_header(ACTOR_HEADER)`` trusts it."""

SECRET_ALGORITHMS: Final = ("HS256", "HS384", "HS512")
PUBLIC_KEY_ALGORITHMS: Final = (*(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)), "EdDSA")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """The request that an extractor reads: headers by name in lower case, and the ASGI scope, WSGI environ or META."""

    headers: Mapping[str, str]
    scope: Mapping[str, Any]


Found = Id | Actor | None
Extractor = Callable[[Request], Found | Awaitable[Found]]


Key = str | bytes | jwt.PyJWK | PublicKeyTypes


class KeyClient(Protocol):
    """Finds the key of a token. For example jwt.PyJWKClient, which reads a JWKS address."""

    def get_signing_key_from_jwt(self, token: str) -> jwt.PyJWK:
        """The key that the token names."""


@dataclass(frozen=True, slots=True)
class _Header:
    name: str

    def __call__(self, request: Request) -> str | None:
        return request.headers.get(self.name)


def from_header(name: str) -> Extractor:
    """The value of a header that only the host or its gateway can set. ``from_header(ACTOR_HEADER)`` trusts that one.

    The gateway must remove the header from requests, also spelled with underscores, which WSGI cannot tell apart.
    """
    return _Header(name.lower())


def trusts_actor_header(extractor: Extractor) -> bool:
    """True if the host has chosen ``from_header(ACTOR_HEADER)``."""
    return extractor == _Header(ACTOR_HEADER)


def from_cookie(name: str) -> Extractor:
    """The value of a cookie. Visitors can write cookies, so it must be one that the host has verified before."""

    def extract(request: Request) -> str | None:
        pairs = [pair.partition("=") for pair in request.headers.get("cookie", "").split(";")]
        # the last, as in Django and Starlette; SimpleCookie itself would drop all if others do not fit its grammar
        found = [value.strip() for key, equals, value in pairs if equals and key.strip() == name]
        return SimpleCookie().value_decode(found[-1])[0] if found else None

    return extract


def from_bearer(
    *,
    verify: Key | KeyClient | Callable[[str], Key] | None = None,
    algorithms: Sequence[str] | None = None,
    audience: str | Sequence[str] | None = None,
    unverified: bool = False,
) -> Extractor:
    """The ``sub`` claim of the bearer token (a JWT) in ``Authorization``; a bad or expired token gives no actor.

    ``verify`` is the key: a secret, a PEM text, a key object, a JWKS client, or a function of the token that returns
    one; the latter two run in a thread under ASGI. Without ``algorithms`` a secret verifies HS*, every other key RS*,
    PS*, ES* and EdDSA. ``audience`` is checked if it is given. ``unverified=True`` reads the token without a check: use
    it only if the host has refused bad tokens before. Raises ConfigError if ``verify`` and ``unverified`` are both
    given, or neither.
    """
    if unverified == (verify is not None):
        raise ConfigError(
            "from_bearer needs either a key or unverified=True",
            hint="Write from_bearer(verify=key); or unverified=True if the host has verified every token already.",
        )
    if algorithms is None:
        algorithms = SECRET_ALGORITHMS if _is_secret(verify) else PUBLIC_KEY_ALGORITHMS
    return _Bearer(verify, tuple(algorithms), audience)


def _is_secret(key: object) -> bool:
    text = key.encode() if isinstance(key, str) else key
    return isinstance(text, bytes) and not re.match(rb"\s*(-----BEGIN |ssh-|ecdsa-)", text)


@dataclass(frozen=True, slots=True)
class _Bearer:
    verify: Any
    algorithms: tuple[str, ...]
    audience: str | Sequence[str] | None

    @property
    def blocks(self) -> bool:
        return callable(self.verify) or hasattr(self.verify, "get_signing_key_from_jwt")

    def __call__(self, request: Request) -> str | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            subject = self._claims(token.strip()).get("sub")
        except Exception as error:  # noqa: BLE001 - the token is hostile input, the key may come from the host's code
            _log.info("bearer token refused: %s", type(error).__name__)
            return None
        return subject if isinstance(subject, str) else None

    def _claims(self, token: str) -> dict[str, Any]:
        if self.verify is None:
            return jwt.decode(token, options={"verify_signature": False})
        return jwt.decode(
            token,
            self._key(token),
            algorithms=self.algorithms,
            audience=self.audience,
            options={"verify_aud": self.audience is not None},
        )

    def _key(self, token: str) -> Any:
        if hasattr(self.verify, "get_signing_key_from_jwt"):
            return self.verify.get_signing_key_from_jwt(token)
        return self.verify(token) if callable(self.verify) else self.verify


def blocks(extractor: Extractor) -> bool:
    """True if the extractor may wait for the network, so that an event loop calls it in a thread."""
    return isinstance(extractor, _Bearer) and extractor.blocks


def to_actor(found: Found | Awaitable[Found], context: Mapping[str, object] | None) -> Actor | None:
    """The actor that an extractor has found, with ``context`` added. None if PostgreSQL cannot store the id."""
    if found is None or found == "":
        return None
    if isinstance(found, Actor):
        return replace(found, context={**context, **(found.context or {})}) if context else found
    if not isinstance(found, Id):
        raise TypeError(f"an extractor returns an id, an Actor or None, not {type(found).__name__}")
    try:
        return Actor(found, context=context)
    except ValueError:
        _log.warning("an actor id of %d characters is refused", len(str(found)))
        return None


def actor_of(user: object, context: Mapping[str, object] | None) -> Actor | None:
    """As ``to_actor``, of an application's user: an id, an Actor, None, or an object with an ``id``.

    Raises TypeError if it is an object without one.
    """
    if user is not None and not isinstance(user, Id | Actor):
        found = getattr(user, "id", None)
        if found is None:
            raise TypeError(
                f"{type(user).__name__} has no id: return an id, an audit.Actor or None from the function that finds it"
            )
        user = found
    return to_actor(user, context)  # type: ignore[arg-type] # which refuses an id of another type


_REQUEST_ID: Final = re.compile(r"[\w.:/+=@-]{1,128}", re.ASCII)


def request_context(headers: Mapping[str, str], ip: str | None) -> dict[str, object]:
    """The context of a request: ``request_id``, from X-Request-ID or new, and ``ip`` if it is known."""
    given = headers.get("x-request-id", "")
    request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
    return {"request_id": request_id, "ip": ip} if ip else {"request_id": request_id}


def environ_headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a WSGI environ or of Django's META, by name in lower case."""
    return {
        key.removeprefix("HTTP_").replace("_", "-").lower(): value
        for key, value in environ.items()
        if key.startswith("HTTP_")
    }


ACTOR_VARIABLE: Final = "HTTP_" + ACTOR_HEADER.upper().replace("-", "_")
"""The name of ACTOR_HEADER in WSGI and Django."""
