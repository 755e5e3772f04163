"""Attempts: open the endpoint's secret, sign the body, POST it, and judge what came back."""

import json
import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from weakref import WeakKeyDictionary

from svc_pg.config import Retry
from svc_pg.errors import EncryptionKeyError, EndpointError, WebhookSignatureError
from svc_pg.webhooks.endpoint_fields import HEADERS_COLUMN, SECRET_COLUMN
from svc_pg.webhooks.http.transport import Request, Result, Transport
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.worker import backoff, tracing
from svc_pg.webhooks.worker.leases import Acknowledgement, Claim, Message, Target

_log = logging.getLogger(__name__)

_CONNECT_TIMEOUT: Final = timedelta(seconds=5)
_KEY_WAIT: Final = timedelta(minutes=1)
_GONE: Final = 410
_OVERLOADED: Final = frozenset({429, 503})


class Attempts:
    """Makes attempts over ``transport``. What ``keys`` open of a target is kept until the target is another one."""

    def __init__(self, *, transport: Transport, keys: KeyRing, retry: Retry) -> None:
        self._transport = transport
        self._keys = keys
        self._retry = retry
        self._opened: WeakKeyDictionary[Target, _Opened] = WeakKeyDictionary()

    async def make(self, claim: Claim, message: Message, target: Target) -> Acknowledgement:
        """Send one claim to its target. Whatever the receiver or the stored secret is like, this returns a verdict."""
        try:
            request = self._request(claim, message, target)
        except EncryptionKeyError as error:  # our fault: it costs the endpoint no attempt
            _log.error("an attempt waits for the key that opens its secret: %s", error.message)
            return Acknowledgement(claim, "released", Result(outcome="blocked", error=error.message), _KEY_WAIT)
        except (EndpointError, WebhookSignatureError) as error:
            result = Result(outcome="blocked", error=error.message)
        else:
            result = await tracing.send(
                self._transport, request, trace_context=message.trace_context, attempt=claim.attempt
            )
        return _judged(claim, result, self._retry)

    def _request(self, claim: Claim, message: Message, target: Target) -> Request:
        opened = self._opened.get(target)
        if opened is None:
            opened = self._opened[target] = _opened(target, self._keys)
        body = message.body.encode()
        signature = sign(
            delivery_id=claim.delivery_id,
            timestamp=int(time.time()),
            body=body,
            secrets=opened.secrets if target.is_overlapping else opened.secrets[:1],
        )
        return Request(
            url=target.url,
            body=body,
            headers=opened.headers | signature,
            timeout=target.timeout,
            connect_timeout=_CONNECT_TIMEOUT,
        )


@dataclass(frozen=True, slots=True)
class _Opened:
    """The headers of every attempt, and the secret and the one before it."""

    headers: dict[str, str]
    secrets: list[str]


def _opened(target: Target, keys: KeyRing) -> _Opened:
    def opened(sealed: bytes, column: str) -> str:
        return keys.open(sealed, owner=target.id, column=column)

    headers = {} if target.headers is None else json.loads(opened(target.headers, HEADERS_COLUMN))
    sealed = [target.secret]
    if target.previous_secret is not None and target.is_overlapping:
        sealed.append(target.previous_secret)
    return _Opened(headers | {"Content-Type": "application/json"}, [opened(secret, SECRET_COLUMN) for secret in sealed])


def _judged(claim: Claim, result: Result, retry: Retry) -> Acknowledgement:
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
