"""The keys of Standard Webhooks: secrets that sign and verify (v1), and pairs that sign or verify (v1a, Ed25519).

``cryptography`` is imported only for a key of a pair, so that a receiver with a secret does not need it.
"""

import base64
import hmac
from collections.abc import Callable, Sequence
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

from svc_pg.errors import WebhookSignatureError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Signer = Callable[[bytes], str]
"""Returns the signature of a content, with its version in front."""

Verifier = Callable[[bytes, Sequence[bytes]], bool]
"""Returns True if one of the signatures is of this content."""

_SECRET: Final = "whsec_"  # noqa: S105 - a prefix
_PRIVATE: Final = "whsk_"
_PUBLIC: Final = "whpk_"
_BYTES: Final = 32
_MOST_TRIED: Final = 10  # a signature of a pair costs a tenth of a millisecond, and any sender can send many


def new_secret() -> str:
    """A secret to sign and verify with: ``whsec_`` and 32 random bytes in base64."""
    return _SECRET + base64.b64encode(token_bytes(_BYTES)).decode()


def new_signing_key() -> str:
    """The private key of a pair: ``whsk_`` and the 32 bytes of its seed (RFC 8032) in base64."""
    return _PRIVATE + base64.b64encode(token_bytes(_BYTES)).decode()


def public_key(signing_key: str) -> str:
    """The public key of a pair: ``whpk_`` and its 32 bytes in base64. Raises WebhookSignatureError."""
    public = _private_key(signing_key).public_key().public_bytes_raw()
    return _PUBLIC + base64.b64encode(public).decode()


def signer(key: str) -> Signer:
    """The signer with a secret or with the private key of a pair. Raises WebhookSignatureError if it is neither."""
    if key.startswith(_PRIVATE):
        private = _private_key(key)
        return lambda content: "v1a," + base64.b64encode(private.sign(content)).decode()
    secret = _secret(key)
    return lambda content: _of_secret(secret, content)


def verifier(key: object) -> Verifier:
    """The verifier with a secret or with the public key of a pair. Raises WebhookSignatureError if it is neither."""
    if isinstance(key, str) and key.startswith(_PUBLIC):
        return _with_public_key(key)
    secret = _secret(key)

    def is_signed(content: bytes, signatures: Sequence[bytes]) -> bool:
        expected = _of_secret(secret, content).encode()
        # the sum compares with every one, so that the time does not tell which one matched
        return sum(hmac.compare_digest(expected, signature) for signature in signatures) > 0

    return is_signed


def _with_public_key(text: str) -> Verifier:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(_decoded(text.removeprefix(_PUBLIC)))
    except ValueError as error:
        raise WebhookSignatureError(
            "a public key is not whpk_ and 32 bytes in base64", hint="Give it as the endpoint shows it, unchanged."
        ) from error

    def is_signed(content: bytes, signatures: Sequence[bytes]) -> bool:
        tried = [each.removeprefix(b"v1a,") for each in signatures if each.startswith(b"v1a,")][:_MOST_TRIED]
        return any(verifies(content, each) for each in tried)

    def verifies(content: bytes, signature: bytes) -> bool:
        try:
            key.verify(base64.b64decode(signature, validate=True), content)
        except (InvalidSignature, ValueError):
            return False
        return True

    return is_signed


def _private_key(text: str) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(_decoded(text.removeprefix(_PRIVATE)))
    except ValueError as error:
        raise WebhookSignatureError("a signing key is not whsk_ and 32 bytes in base64") from error


def _secret(text: object) -> bytes:
    try:
        key = _decoded(text.removeprefix(_SECRET)) if isinstance(text, str) else b""
    except ValueError:
        key = b""
    if not key:
        raise WebhookSignatureError(
            "a secret is not whsec_ and base64, nor a public key whpk_ and base64",
            hint="Give it as it was returned, unchanged.",
        )
    return key


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _of_secret(secret: bytes, content: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(secret, content, "sha256")).decode()
