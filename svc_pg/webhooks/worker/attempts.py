"""Make an attempt: open the endpoint's secret, sign the body, POST it, and decide by the response."""

import json
import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from weakref import WeakKeyDictionary

from svc_pg.config import Retry
from svc_pg.errors import EncryptionKeyError, EndpointError, WebhookSignatureError
from svc_pg.webhooks import tracing
from svc_pg.webhooks.endpoint_fields import HEADERS_COLUMN, SECRET_COLUMN
from svc_pg.webhooks.http.transport import Request, Result, Transport
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.worker import backoff
from svc_pg.webhooks.worker.leases import Acknowledgement, EndpointSnapshot, Lease, Message
from svc_pg.webhooks.worker.local_faults import LocalFaults

_log = logging.getLogger(__name__)

_CONNECT_TIMEOUT: Final = timedelta(seconds=5)
_KEY_WAIT: Final = timedelta(minutes=1)
_GONE: Final = 410
_OVERLOADED: Final = frozenset({429, 503})


class Attempts:
    """Makes attempts over ``transport``. Opened secrets and headers are kept as long as their endpoint's snapshot."""

    def __init__(self, *, transport: Transport, keys: KeyRing, retry: Retry, faults: LocalFaults) -> None:
        self._transport = transport
        self._keys = keys
        self._retry = retry
        self._faults = faults
        self._opened: WeakKeyDictionary[EndpointSnapshot, _Opened] = WeakKeyDictionary()

    async def make(self, lease: Lease, message: Message, endpoint: EndpointSnapshot) -> Acknowledgement:
        """POST one delivery. Whatever the receiver does and the stored secret is, this returns an acknowledgement."""
        try:
            request = self._request(lease, message, endpoint)
        except EncryptionKeyError as error:  # our fault: it costs the endpoint no attempt
            _log.error("an attempt waits for the key that opens its secret: %s", error.message)
            return Acknowledgement(lease, "released", Result(outcome="blocked", error=error.message), _KEY_WAIT)
        except (EndpointError, WebhookSignatureError) as error:
            result = Result(outcome="blocked", error=error.message)
        else:
            result = await tracing.send(
                self._transport, request, trace_context=message.trace_context, attempt=lease.attempt
            )
        if result.outcome == "local_error":  # as well
            return Acknowledgement(lease, "released", result, self._faults.note(result.error or ""))
        return _judged(lease, result, self._retry)

    def _request(self, lease: Lease, message: Message, endpoint: EndpointSnapshot) -> Request:
        opened = self._opened.get(endpoint)
        if opened is None:
            opened = self._opened[endpoint] = _opened(endpoint, self._keys)
        body = message.body.encode()
        signature = sign(
            delivery_id=lease.delivery_id,
            timestamp=int(time.time()),
            body=body,
            secrets=opened.secrets if endpoint.is_overlapping else opened.secrets[:1],
        )
        return Request(
            url=endpoint.url,
            body=body,
            headers=opened.headers | signature,
            timeout=endpoint.timeout,
            connect_timeout=_CONNECT_TIMEOUT,
        )


@dataclass(frozen=True, slots=True)
class _Opened:
    """The headers of every attempt, the secret, and the secret before a rotation."""

    headers: dict[str, str]
    secrets: list[str]


def _opened(endpoint: EndpointSnapshot, keys: KeyRing) -> _Opened:
    def opened(sealed: bytes, column: str) -> str:
        return keys.open(sealed, owner=endpoint.id, column=column)

    headers = {} if endpoint.headers is None else json.loads(opened(endpoint.headers, HEADERS_COLUMN))
    sealed = [endpoint.secret]
    if endpoint.previous_secret is not None and endpoint.is_overlapping:
        sealed.append(endpoint.previous_secret)
    return _Opened(headers | {"Content-Type": "application/json"}, [opened(secret, SECRET_COLUMN) for secret in sealed])


def _judged(lease: Lease, result: Result, retry: Retry) -> Acknowledgement:
    if result.outcome == "success":
        return Acknowledgement(lease, "delivered", result)
    if result.status == _GONE:
        return Acknowledgement(lease, "gone", result)
    if lease.attempt >= lease.max_attempts:
        return Acknowledgement(lease, "failed", result)
    wait = backoff.wait(
        retry,
        attempt=lease.attempt,
        retry_after=result.retry_after,
        overloaded=result.outcome == "timeout" or result.status in _OVERLOADED,
    )
    return Acknowledgement(lease, "retry", result, wait)
