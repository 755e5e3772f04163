"""One attempt: open the endpoint's secret, sign the body, POST it, and judge what came back."""

import json
import time
from datetime import timedelta
from typing import Final

from svc_pg.config import Retry
from svc_pg.errors import EncryptionKeyError, EndpointError, WebhookSignatureError
from svc_pg.webhooks import backoff, tracing
from svc_pg.webhooks.claims import Acknowledgement, Claim, Target
from svc_pg.webhooks.endpoints import HEADERS_COLUMN, SECRET_COLUMN
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.transport import Request, Result, Transport

_CONNECT_TIMEOUT: Final = timedelta(seconds=5)
_GONE: Final = 410
_OVERLOADED: Final = frozenset({429, 503})


async def attempt(
    claim: Claim, target: Target, *, transport: Transport, keys: KeyRing, retry: Retry
) -> Acknowledgement:
    """Send one claim to its target. Whatever the receiver or the stored secret is like, this returns a verdict."""
    try:
        request = _request(claim, target, keys)
    except (EncryptionKeyError, EndpointError, WebhookSignatureError) as error:
        result = Result(outcome="blocked", error=error.message)
    else:
        result = await tracing.send(transport, request, trace_context=claim.trace_context, attempt=claim.attempt)
    if result.outcome == "success":
        return Acknowledgement(claim, "delivered", result)
    if result.status == _GONE:
        return Acknowledgement(claim, "gone", result)
    if claim.attempt >= claim.max_attempts:
        return Acknowledgement(claim, "failed", result)
    wait = backoff.wait(
        retry,
        attempt=claim.attempt,
        retry_after=result.retry_after,
        overloaded=result.outcome == "timeout" or result.status in _OVERLOADED,
    )
    return Acknowledgement(claim, "retry", result, wait)


def _request(claim: Claim, target: Target, keys: KeyRing) -> Request:
    body = claim.body.encode()
    headers = {} if target.headers is None else json.loads(_open(keys, target, HEADERS_COLUMN, target.headers))
    secrets = [_open(keys, target, SECRET_COLUMN, sealed) for sealed in target.secrets]
    headers |= sign(delivery_id=str(claim.delivery_id), timestamp=int(time.time()), body=body, secrets=secrets)
    return Request(
        url=target.url,
        body=body,
        headers=headers | {"Content-Type": "application/json"},
        timeout=target.timeout,
        connect_timeout=_CONNECT_TIMEOUT,
    )


def _open(keys: KeyRing, target: Target, column: str, sealed: bytes) -> str:
    return keys.open(sealed, owner=str(target.id), column=column)
