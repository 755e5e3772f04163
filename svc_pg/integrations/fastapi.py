"""Dependencies of FastAPI: ``acting_as`` names the actor of a request, ``signed_webhook`` verifies a webhook."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request

from svc_pg.errors import WebhookSignatureError
from svc_pg.webhooks.signing import Envelope as Envelope
from svc_pg.webhooks.signing import assert_webhook_signature, check_secret
from svc_pg.webhooks.signing.signing_times import TOLERANCE, Tolerance, seconds_of

MAX_BYTES: Final = 1024 * 1024
"""The default limit of a body. svc-pg sends at most 256 KiB of payload in it."""

# FastAPI answers {"detail": ...}, which is all that a problem document (RFC 9457) needs
_PROBLEM: Final = {"content-type": "application/problem+json"}
_log = logging.getLogger(__name__)


def acting_as(
    user: Callable[..., Any], *, records_request: bool = False
) -> Callable[[HTTPConnection, Any], AsyncIterator[None]]:
    """A dependency that names the actor of a request or WebSocket: ``Depends(acting_as(current_user))``.

    ``user`` is your dependency that finds the user, sync or async: an id, an ``audit.Actor``, an object with an ``id``,
    or None, which changes no actor. Holds for the endpoint, sync or async, and, with FastAPI from 0.118 on, for its
    streams and background tasks. With ``records_request`` the context has ``request_id`` and ``ip``. Dependencies that
    FastAPI calls before this one run without the actor.
    """
    # here, because a receiver of webhooks has no database
    from svc_pg.audit import context
    from svc_pg.integrations.extractors import actor_of, request_context
    from svc_pg.integrations.watching import watch

    async def dependency(connection: HTTPConnection, found: Annotated[Any, Depends(user)]) -> AsyncIterator[None]:
        watch()
        ip = connection.client.host if connection.client else None
        actor = actor_of(found, request_context(connection.headers, ip) if records_request else None)
        with context.acting_as(context.current_actor() if actor is None else actor):
            yield

    return dependency


def signed_webhook(
    *, secret: str | Sequence[str], tolerance: Tolerance | None = TOLERANCE, max_bytes: int = MAX_BYTES
) -> Callable[[Request], Awaitable[Envelope]]:
    """A dependency that gives the envelope of an authentic webhook: ``Annotated[Envelope, Depends(...)]``.

    With several secrets any one may match. Every other request is answered 401, or 413 if its body has more than
    ``max_bytes``; only the log tells why. Raises WebhookSignatureError at once if a secret or the ``tolerance`` is
    unusable.
    """
    check_secret(secret)
    seconds_of(tolerance)

    async def verified(request: Request) -> Envelope:
        body = await limited_body(request, max_bytes=max_bytes)
        try:
            return assert_webhook_signature(headers=request.headers, body=body, secret=secret, tolerance=tolerance)
        except WebhookSignatureError as error:
            _log.warning("webhook refused: %s", error.message)
            raise HTTPException(401, "This is not an authentic webhook.", _PROBLEM) from None

    return verified


async def limited_body(request: Request, *, max_bytes: int) -> bytes:
    """The raw body, of which no more than ``max_bytes`` are kept. Raises HTTPException 413 if it is larger."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise HTTPException(413, f"The body may have {max_bytes} bytes.", _PROBLEM)
    except ClientDisconnect:
        raise HTTPException(400, "The body ended early.", _PROBLEM) from None
    return bytes(body)
