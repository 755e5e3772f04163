"""Find the session of a request by the token in its ``Authorization`` header (RFC 6750)."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from svc_pg.console.http.requests import ConsoleRequest, Problem
from svc_pg.console.http.tokens import Session, TokenError


class Authenticate(Protocol):
    """Finds the session of a token, given its text. Raises TokenError."""

    async def __call__(self, token: str, *, is_use: bool = True) -> Session:
        """A call that is no use of the session keeps no idle session alive."""


class FindSession(Protocol):
    """Finds the session that a request belongs to, as a SessionOf. Raises Problem."""

    async def __call__(self, request: ConsoleRequest, *, is_use: bool = True) -> Session:
        """A call that is no use of the session keeps no idle session alive."""


SessionOf = Callable[[ConsoleRequest], Awaitable[Session]]
"""Finds the session that a request belongs to; raises Problem."""

CHALLENGE: Final = 'Bearer realm="svc"'

logger = logging.getLogger("svc_pg.console")


def bearer_tokens(request: ConsoleRequest) -> list[str]:
    """The tokens in the request's Authorization headers of the scheme Bearer."""
    credentials = [each.partition(" ") for each in request.headers.getlist("authorization")]
    return [token for scheme, _, token in credentials if scheme.lower() == "bearer"]


def bearer(authenticate: Authenticate) -> FindSession:
    """A function that finds a session by the one Bearer token in ``Authorization``; nothing else carries a token."""

    async def session_of(request: ConsoleRequest, *, is_use: bool = True) -> Session:
        credentials = request.headers.getlist("authorization")
        scheme, _, token = credentials[0].partition(" ") if credentials else ("", "", "")
        if scheme.lower() != "bearer":
            raise Problem(
                401, "not_authenticated", "Send Authorization: Bearer.", headers={"WWW-Authenticate": CHALLENGE}
            )
        try:
            if len(credentials) > 1:
                raise TokenError("there are several Authorization headers")
            return await authenticate(token, is_use=is_use)
        except TokenError as error:
            logger.info("request %s: token refused: %s", request.request_id, error)
            challenge = f'{CHALLENGE}, error="invalid_token"'
            raise Problem(
                401, "invalid_token", "The session is not valid.", headers={"WWW-Authenticate": challenge}
            ) from error

    return session_of
