"""A receiver of webhooks for tests: it verifies signatures, keeps every request, and can be told to fail."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from threading import Event
from typing import Any, Final, Unpack

from svc_pg.database.query import fetch_one
from svc_pg.errors import WebhookSignatureError
from svc_pg.testing.databases import check, connected
from svc_pg.testing.http_server import serving
from svc_pg.testing.this_machine import ThisMachine
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.endpoints.endpoint_fields import Options
from svc_pg.webhooks.endpoints.endpoint_rows import EndpointWithSecret
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.signing import assert_webhook_signature

_ACCEPTED: Final = 204
_REFUSED: Final = 401
_AT_ONCE: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One POST and its answer.

    ``event`` and ``payload`` are those of the envelope; numbers with a fraction are Decimal. If the signature did not
    verify, they are empty and None, ``refused`` is the reason, and the answer 401.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    event: str = ""
    payload: Any = None
    refused: str | None = None

    @property
    def delivery_id(self) -> str:
        """The id of the delivery, the same in each of its attempts."""
        return next((value for name, value in self.headers.items() if name.lower() == "webhook-id"), "")

    @property
    def envelope(self) -> dict[str, Any]:
        """The whole body, parsed."""
        found: dict[str, Any] = json.loads(self.body, parse_float=Decimal)
        return found


class Receiver:
    """A running receiver. ``url`` is its address, ``requests`` every POST so far, also refused ones."""

    def __init__(self, url: str, keys: KeyRing) -> None:
        self.url = url
        self.requests: list[ReceivedRequest] = []
        self._keys = keys
        self._secrets: list[str] = []
        self._answers: deque[tuple[int, timedelta]] = deque()
        self._is_over = Event()

    @property
    def webhooks(self) -> list[ReceivedRequest]:
        """The requests that it accepted, with a status from 200 to 299."""
        return [request for request in self.requests if 200 <= request.status < 300]

    def subscribe(
        self, where: Any, *events: str, tenant: str | None = None, **options: Unpack[Options]
    ) -> EndpointWithSecret:
        """Register it as an endpoint for these events, by default all, and verify with the endpoint's secret.

        ``where`` is the address of a database, or a connection as calls of svc-pg take, in whose transaction it is
        registered. ``options`` are those of ``webhooks.endpoints.create``.

        Raises ConfigError for a database that does not look like one of tests, EndpointError and NotInstalledError.
        """
        created = endpoint_queries.create(
            url=self.url, events=events or ("*",), keys=self._keys, guard=ThisMachine(), tenant=tenant, **options
        )
        if isinstance(where, str):
            with connected(where) as conn:
                endpoint = fetch_one(conn, created)
        else:
            check(where)
            endpoint = fetch_one(where, created)
        self._secrets += [endpoint.secret] if endpoint.public_key is None else [endpoint.secret, endpoint.public_key]
        return endpoint

    def answer(self, status: int, *, times: int = 1, after: timedelta = _AT_ONCE) -> None:
        """Answer the next ``times`` authentic requests with this status, each ``after`` so long; then 204 again."""
        self._answers.extend([(status, after)] * times)

    def close(self) -> None:
        """Answer all waiting requests at once."""
        self._is_over.set()

    def receive(self, _path: str, headers: Mapping[str, str], body: bytes) -> int:
        """Keep a request, and return the status of its answer."""
        try:
            assert_webhook_signature(headers=headers, body=body, secret=self._secrets)
        except WebhookSignatureError as error:
            self.requests.append(ReceivedRequest(_REFUSED, headers, body, refused=error.message))
            return _REFUSED
        status, after = self._answers.popleft() if self._answers else (_ACCEPTED, _AT_ONCE)
        if after:
            self._is_over.wait(after.total_seconds())
        envelope = json.loads(body, parse_float=Decimal)
        self.requests.append(ReceivedRequest(status, headers, body, envelope["type"], envelope["data"]))
        return status


@contextmanager
def receiving(keys: KeyRing) -> Iterator[Receiver]:
    """Enter to start a receiver on this machine; leaving ends it. ``keys`` seal the secrets of its endpoints."""

    def handle(path: str, headers: dict[str, str], body: bytes) -> int:
        return receiver.receive(path, headers, body)

    with serving(handle) as url:
        receiver = Receiver(f"{url}/", keys)
        try:
            yield receiver
        finally:
            receiver.close()
