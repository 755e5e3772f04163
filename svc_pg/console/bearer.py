"""Find the session of a request by the token in its ``Authorization`` header (RFC 6750)."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from svc_pg.console.requests import ConsoleRequest, Problem
from svc_pg.console.tokens import Session, TokenError

Authenticate = Callable[[str], Awaitable[Session]]
"""From the text of a token to its session; raises TokenError."""

SessionOf = Callable[[ConsoleRequest], Awaitable[Session]]
"""From a request to the session that it belongs to; raises Problem."""

CHALLENGE: Final = 'Bearer realm="svc"'

logger = logging.getLogger("svc_pg.console")


def bearer(authenticate: Authenticate) -> SessionOf:
    """The session of the one Bearer token in ``Authorization``; nothing else carries one."""

    async def session_of(request: ConsoleRequest) -> Session:
        credentials = request.headers.getlist("authorization")
        scheme, _, token = credentials[0].partition(" ") if credentials else ("", "", "")
        if scheme.lower() != "bearer":
            raise Problem(
                401, "not_authenticated", "Send Authorization: Bearer.", headers={"WWW-Authenticate": CHALLENGE}
            )
        try:
            if len(credentials) > 1:
                raise TokenError("there are several Authorization headers")
            return await authenticate(token)
        except TokenError as error:
            logger.info("request %s: token refused: %s", request.request_id, error)
            challenge = f'{CHALLENGE}, error="invalid_token"'
            raise Problem(
                401, "invalid_token", "The session is not valid.", headers={"WWW-Authenticate": challenge}
            ) from error

    return session_of
