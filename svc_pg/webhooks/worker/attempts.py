"""Make an attempt: open the endpoint's secret, sign the body, POST it, and decide by the response."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from svc_pg.config import Retry
from svc_pg.errors import EncryptionKeyError, EndpointError, WebhookSignatureError
from svc_pg.webhooks import tracing
from svc_pg.webhooks.deliveries import attempt_waits
from svc_pg.webhooks.http.contexts import usable_until
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Destination, Request, Result, Transport
from svc_pg.webhooks.secrets import HEADERS_COLUMN, SECRET_COLUMN, SIGNING_KEY_COLUMN, TLS_COLUMN, KeyRing
from svc_pg.webhooks.signing import sign_with
from svc_pg.webhooks.signing.signing_keys import Signer, signer
from svc_pg.webhooks.worker.failed_attempts import FailedAttempts
from svc_pg.webhooks.worker.leases import Acknowledgement, EndpointSnapshot, Lease, Message
from svc_pg.webhooks.worker.local_faults import LocalFaults

_log = logging.getLogger(__name__)

_CONNECT_TIMEOUT: Final = timedelta(seconds=5)
_STORED_WAIT: Final = timedelta(minutes=1)
_GONE: Final = 410
_TOO_MANY: Final = 429
_UNAVAILABLE: Final = 503

Done = Callable[[Lease, Acknowledgement | None], None]
"""Called with a lease and the result of its attempt; None if svc-pg itself failed, so that the lease expires."""


class Attempts:
    """Makes attempts over ``transport``. Opened secrets and headers are kept as long as their endpoint's snapshot."""

    def __init__(
        self, *, transport: Transport, keys: KeyRing, retry: Retry, faults: LocalFaults, failures: FailedAttempts
    ) -> None:
        self._transport = transport
        self._keys = keys
        self._retry = retry
        self._faults = faults
        self._failures = failures
        self._opened: WeakKeyDictionary[EndpointSnapshot, _Opened] = WeakKeyDictionary()

    def start(self, lease: Lease, message: Message, endpoint: EndpointSnapshot, done: Done) -> None:
        """POST one delivery, and call ``done`` once at its end, never before this returns.

        ``done`` is called for any response and any stored secret, unless the transport is closed first.
        """
        try:
            request = self._request(lease, message, endpoint)
        except (EncryptionKeyError, EndpointError, WebhookSignatureError) as error:  # our fault: it costs no attempt
            _log.error("an attempt waits for what its endpoint has stored: %s", error.message)
            result = Result("blocked", error=error.message)
            asyncio.get_running_loop().call_soon(done, lease, Acknowledgement(lease, "released", result, _STORED_WAIT))
        else:
            tracing.start(
                self._transport,
                request,
                partial(self._end, lease, done),
                trace_context=message.trace_context,
                attempt=lease.attempt,
            )

    def _end(self, lease: Lease, done: Done, result: Result) -> None:
        try:
            if result.outcome == "local_error":  # our fault as well
                found = Acknowledgement(lease, "released", result, self._faults.note(result.error or ""))
            else:
                found = _judged(lease, result, self._retry)
                if result.outcome != "success":
                    self._failures.note(lease.endpoint_id, result)
        except Exception:  # noqa: BLE001 - a bug must cost neither the worker nor its slot
            _log.exception("an attempt failed in the worker itself; its lease will end")
            done(lease, None)
        else:
            done(lease, found)

    def _request(self, lease: Lease, message: Message, endpoint: EndpointSnapshot) -> Request:
        opened = self._opened.get(endpoint)
        if opened is None:
            opened = self._opened[endpoint] = _opened(endpoint, self._keys)
        if opened.usable_until is not None and time.time() >= opened.usable_until:
            raise EndpointError(f"the client certificate of endpoint {endpoint.id} has ended")
        body = message.body.encode()
        signers = [*opened.signers, *opened.previous] if endpoint.is_overlapping else opened.signers
        signature = sign_with(signers, delivery_id=lease.delivery_id, timestamp=int(time.time()), body=body)
        return Request(opened.destination, body, signature)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The common part of all attempts at an endpoint; ``previous`` are the signers before a rotation.

    ``usable_until`` is the expiry of the client certificate in unix seconds.
    """

    destination: Destination
    usable_until: float | None
    signers: Sequence[Signer]
    previous: Sequence[Signer]


def _opened(endpoint: EndpointSnapshot, keys: KeyRing) -> _Opened:
    def opened(sealed: bytes, column: str) -> str:
        return keys.open(sealed, owner=endpoint.id, column=column)

    def signers(secret: bytes | None, signing_key: bytes | None) -> list[Signer]:
        found = []
        if secret is not None and "v1" in endpoint.signatures:
            found.append(opened(secret, SECRET_COLUMN))
        if signing_key is not None:
            found.append(opened(signing_key, SIGNING_KEY_COLUMN))
        return list(map(signer, found))

    try:
        headers = {} if endpoint.headers is None else json.loads(opened(endpoint.headers, HEADERS_COLUMN))
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}  # always JSON
    except (ValueError, AttributeError) as error:
        raise EndpointError(f"the headers of endpoint {endpoint.id} cannot be read") from error
    try:
        tls = None if endpoint.tls is None else Tls.from_json(opened(endpoint.tls, TLS_COLUMN))
    except (ValueError, TypeError) as error:
        raise EndpointError(f"the TLS material of endpoint {endpoint.id} cannot be read") from error
    ends_at = None if tls is None else usable_until(tls)
    return _Opened(
        Destination(endpoint.url, headers, endpoint.timeout, _CONNECT_TIMEOUT, tls, endpoint.url_by),
        None if ends_at is None else ends_at.timestamp(),
        signers(endpoint.secret, endpoint.signing_key),
        signers(endpoint.previous_secret, endpoint.previous_signing_key) if endpoint.is_overlapping else [],
    )


def _judged(lease: Lease, result: Result, retry: Retry) -> Acknowledgement:
    if result.outcome == "success":
        return Acknowledgement(lease, "delivered", result)
    if result.status == _GONE:
        return Acknowledgement(lease, "gone", result)
    if result.status == _TOO_MANY or (result.status == _UNAVAILABLE and result.retry_after is not None):
        wait = attempt_waits.asked(result.retry_after)
        asks = f", and asks to wait {wait.total_seconds():.0f} s" if wait else ""
        return Acknowledgement(lease, "throttled", result._replace(error=f"{result.error}{asks}"), wait)
    if lease.attempt >= lease.max_attempts:
        return Acknowledgement(lease, "failed", result)
    wait = attempt_waits.wait(
        retry,
        attempt=lease.attempt,
        retry_after=result.retry_after,
        overloaded=result.outcome == "timeout" or result.status == _UNAVAILABLE,
    )
    return Acknowledgement(lease, "retry", result, wait)
