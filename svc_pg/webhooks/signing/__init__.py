"""Sign webhook bodies, and verify them on the receiving side (Standard Webhooks)."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NoReturn, Protocol

from svc_pg.errors import WebhookSignatureError
from svc_pg.webhooks.signing.signing_keys import Signer, Verifier, signer, verifier
from svc_pg.webhooks.signing.signing_times import TOLERANCE, Tolerance, seconds_of, unix_time_of

Envelope = dict[str, Any]
"""A delivery's body: the message's ``id``, ``type`` (its event), ``timestamp`` (RFC 3339), ``data`` (its payload).

If it was sent with a key, also ``key`` and ``sequence``, which rises with each message of the key.
"""

_UNIX_SECONDS = re.compile(r"[0-9]{1,12}")


class HeaderMap(Protocol):
    """The common interface of every framework's headers."""

    def items(self) -> Iterable[tuple[object, object]]:
        """Names in any case, and values: text, bytes, or a list that holds one of them."""


def check_secret(secret: str | Sequence[str]) -> None:
    """Raise WebhookSignatureError if a secret or public key, or one of several, cannot be used to verify."""
    _verifiers(secret)


def sign(*, delivery_id: str, timestamp: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of one attempt, under our names and under those of Standard Webhooks.

    ``timestamp`` is in unix seconds. Each secret and each signing key of a pair adds a signature, so that a receiver
    may hold either one during a rotation. Raises WebhookSignatureError if one is unusable.
    """
    return sign_with([signer(secret) for secret in secrets], delivery_id=delivery_id, timestamp=timestamp, body=body)


def sign_with(signers: Iterable[Signer], *, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """As ``sign``, with signers made once for many attempts."""
    content = _signed_content(delivery_id, str(timestamp), body)
    signatures = " ".join([sign(content) for sign in signers])
    return {
        "X-Webhook-ID": delivery_id,
        "X-Webhook-Timestamp": str(timestamp),
        "X-Webhook-Signature": signatures,
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signatures,
    }


def assert_webhook_signature(
    *,
    headers: HeaderMap,
    body: bytes | str,
    secret: str | Sequence[str],
    tolerance: Tolerance | None = TOLERANCE,
    now: datetime | float | None = None,
) -> Envelope:
    """The envelope of an authentic delivery.

    ``body`` is the raw body, as it came. ``secret`` is the secret or the public key of the endpoint; with several any
    one may match. ``tolerance`` bounds the timestamp in both directions: a timedelta, or seconds; None is the default,
    because without a limit old deliveries could be replayed. ``now`` is the time to compare with: with a time zone, or
    in unix seconds. For any arguments the only error is WebhookSignatureError; its message is the reason.
    """
    tolerated = seconds_of(tolerance)
    present = unix_time_of(now)
    verifiers = _verifiers(secret)
    raw = _bytes(body)
    delivery_id, timestamp, signatures = _signature_headers(headers)
    content = _signed_content(delivery_id, timestamp, raw)
    candidates = [_encode(candidate) for candidate in signatures.split()]
    if not sum(is_signed(content, candidates) for is_signed in verifiers):
        raise WebhookSignatureError(
            "no signature matches",
            hint="Verify the raw body, before any parser, with the secret or public key of this endpoint.",
        )
    if abs(present - int(timestamp)) > tolerated:
        raise WebhookSignatureError(
            f"the timestamp {timestamp} is more than {tolerated:g} s from now", hint="Check the clock of this machine."
        )
    return _envelope(raw)


def verify_webhook_signature(
    *,
    headers: HeaderMap,
    body: bytes | str,
    secret: str | Sequence[str],
    tolerance: Tolerance | None = TOLERANCE,
    now: datetime | float | None = None,
) -> bool:
    """True if ``assert_webhook_signature`` accepts the same arguments."""
    try:
        assert_webhook_signature(headers=headers, body=body, secret=secret, tolerance=tolerance, now=now)
    except WebhookSignatureError:
        return False
    return True


def _signed_content(delivery_id: str, timestamp: str, body: bytes) -> bytes:
    return _encode(f"{delivery_id}.{timestamp}.") + body


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # surrogates cannot match, but must not raise


def _verifiers(secrets: str | Iterable[str]) -> list[Verifier]:
    if isinstance(secrets, str):
        return [verifier(secrets)]
    try:
        given = list(secrets) if isinstance(secrets, Iterable) else []
    except Exception:  # noqa: BLE001 - the code of another's collection
        given = []
    verifiers = [verifier(secret) for secret in given]
    if not verifiers:
        raise WebhookSignatureError("there is no secret", hint="Give the text that creating the endpoint returned.")
    return verifiers


def _bytes(body: object) -> bytes:
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if isinstance(body, str):
        return _encode(body)
    raise WebhookSignatureError(
        f"the body is of type {type(body).__name__}", hint="Give the raw body as bytes or str, not what was parsed."
    )


def _signature_headers(headers: HeaderMap) -> tuple[str, str, str]:
    """Identifier, timestamp and signatures, from the set of header names that is complete."""
    try:
        values = {_text(name).lower(): _text(value) for name, value in headers.items()}
    except Exception as error:  # the code of another's mapping
        raise WebhookSignatureError("the headers are not a mapping of names to values") from error
    for prefix in ("webhook-", "x-webhook-"):
        found = [values.get(prefix + name, "") for name in ("id", "timestamp", "signature")]
        if all(found):
            delivery_id, timestamp, signatures = found
            if not _UNIX_SECONDS.fullmatch(timestamp):
                raise WebhookSignatureError("the timestamp is not a number of seconds")
            return delivery_id, timestamp, signatures
    raise WebhookSignatureError("one of the headers webhook-id, webhook-timestamp and webhook-signature is missing")


def _text(value: object) -> str:
    """A header's name or value; empty if it is neither text, bytes nor a list of one."""
    if isinstance(value, list | tuple) and len(value) == 1:
        (value,) = value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""


def _envelope(raw: bytes) -> Envelope:
    try:
        envelope = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise WebhookSignatureError(f"the body is not JSON: {error}") from error
    if not isinstance(envelope, dict):
        raise WebhookSignatureError("the body is not a JSON object")
    return envelope


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
