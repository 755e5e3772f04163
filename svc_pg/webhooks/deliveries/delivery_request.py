"""The request of a delivery, rebuilt as a worker would make it now: URL, headers, body, and signatures to check."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final
from urllib.parse import urlsplit

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.errors import EncryptionKeyError, WebhookSignatureError
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.http.route import DEFAULT_HEADERS
from svc_pg.webhooks.ids import delivery_key, no_delivery
from svc_pg.webhooks.secrets import HEADERS_COLUMN, SECRET_COLUMN, SIGNING_KEY_COLUMN, KeyRing
from svc_pg.webhooks.signing import sign_with
from svc_pg.webhooks.signing.signing_keys import Signer, signer
from svc_pg.webhooks.tracing import trace_headers

_SELECT: Final = statement("queries/webhooks/delivery_request.sql")


@dataclass(frozen=True, slots=True)
class HttpHeader:
    """One header of a request."""

    name: Annotated[str, Doc("The name of the header, in the spelling in which a worker sends it.", "webhook-id")]
    value: Annotated[
        str | None,
        Doc("Its value; null if it is sealed, or not told to this session.", "0198d3f0-2b1c-7a55-8d0e-4f6a1b2c3d4e"),
    ]
    is_recorded: Annotated[bool, Doc("True if the value is stored with the delivery, so that each attempt had it.")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class DeliveryPost:
    """The POST that an attempt would make now: no attempt keeps its URL, its headers or its signature."""

    method: Annotated[str, Doc("The method of the request.", "POST")]
    url: Annotated[
        str | None, Doc("The address of the receiver; null if the endpoint was deleted.", "https://example.com/hooks")
    ]
    headers: Annotated[Sequence[HttpHeader], Doc("The headers in the order in which a worker sends them.")]
    body: Annotated[
        str | None,
        Doc(
            "The body, the same in every attempt; the signature covers `{webhook-id}.{webhook-timestamp}.{body}`."
            " null once retention has deleted the message.",
            '{"type":"order.created","timestamp":"2026-03-14T09:26:53.589793Z","data":{"id":7}}',
        ),
    ]
    has_unnamed_headers: Annotated[bool, Doc("True if the endpoint has further headers that cannot be opened here.")]


@dataclass(frozen=True, slots=True)
class SealedRequest:
    """A request with its secrets still sealed. Its repr does not show them."""

    id: str
    endpoint_id: str | None
    url: str | None
    body: str | None
    trace_context: str | None
    timestamp: int
    signatures: Sequence[str] | None
    headers: bytes | None = field(repr=False)
    secret: bytes | None = field(repr=False)
    signing_key: bytes | None = field(repr=False)
    previous_secret: bytes | None = field(repr=False)
    previous_signing_key: bytes | None = field(repr=False)


def get(delivery_id: str) -> Query[SealedRequest]:
    """The request of one delivery. Running it raises NotFoundError."""
    key = delivery_key(delivery_id)
    return Query(_SELECT, (key,), SealedRequest, absent=no_delivery(key))


def delivery_post(sealed: SealedRequest, *, keys: KeyRing | None, is_signed: bool) -> DeliveryPost:
    """The request, with the names of sealed headers, never with their values.

    With ``is_signed`` it has the signatures of an attempt now. Without ``keys``, or if they do not open the endpoint's
    stored values, it has neither.
    """
    names = _names(sealed, keys)
    own = [] if sealed.endpoint_id is None or sealed.body is None else _signature(sealed, keys if is_signed else None)
    own += [HttpHeader(name, value) for name, value in trace_headers(sealed.trace_context).items()]
    given = {name.lower() for name in names or ()}
    common = [HttpHeader(name, value) for name, value in DEFAULT_HEADERS.items() if name.lower() not in given]
    common += [HttpHeader(name, None) for name in names or ()]
    replaced = {header.name.lower() for header in own}
    headers = [header for header in common if header.name.lower() not in replaced] + own
    if sealed.url is not None:
        headers.insert(0, HttpHeader("Host", urlsplit(sealed.url).netloc))
    if sealed.body is not None:
        headers.append(HttpHeader("Content-Length", str(len(sealed.body.encode())), is_recorded=True))
    return DeliveryPost("POST", sealed.url, headers, sealed.body, names is None)


def _names(sealed: SealedRequest, keys: KeyRing | None) -> list[str] | None:
    if sealed.headers is None:
        return []
    try:
        headers = json.loads(_open(sealed, keys, sealed.headers, HEADERS_COLUMN))
    except (EncryptionKeyError, ValueError):
        return None
    return [name for name in headers if name.lower() != "content-type"]  # it is always JSON


def signers(sealed: SealedRequest, keys: KeyRing | None) -> list[Signer]:
    """All signers of an attempt now. Raises EncryptionKeyError, which names the missing key."""
    stored = (
        (sealed.secret, SECRET_COLUMN),
        (sealed.signing_key, SIGNING_KEY_COLUMN),
        (sealed.previous_secret, SECRET_COLUMN),
        (sealed.previous_signing_key, SIGNING_KEY_COLUMN),
    )
    return [signer(_open(sealed, keys, value, column)) for value, column in stored if value is not None]


def _signature(sealed: SealedRequest, keys: KeyRing | None) -> list[HttpHeader]:
    body = (sealed.body or "").encode()
    try:
        signed = sign_with(signers(sealed, keys), delivery_id=sealed.id, timestamp=sealed.timestamp, body=body)
    except (EncryptionKeyError, WebhookSignatureError):
        unsigned = sign_with([], delivery_id=sealed.id, timestamp=sealed.timestamp, body=body)
        signed = {name: value if _is_id(name) else "" for name, value in unsigned.items()}
    return [HttpHeader(name, value or None, is_recorded=_is_id(name)) for name, value in signed.items()]


def _is_id(name: str) -> bool:
    return name.lower().endswith("-id")


def _open(sealed: SealedRequest, keys: KeyRing | None, value: bytes, column: str) -> str:
    if keys is None:
        raise EncryptionKeyError("there is no encryption key")
    return keys.open(value, owner=sealed.endpoint_id or "", column=column)
