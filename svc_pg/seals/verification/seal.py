"""A seal: a signed commitment to the entries of a stretch of the log, and to the seal before it."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, Self

from svc_pg.errors import ProofError

KIND: Final = "svc-pg audit seal"
VERSION: Final = 2
"""The present version. Seals of version 1 have leaves of one part, which are no longer compared."""
_KNOWN: Final = (1, VERSION)
MOST_ENTRIES: Final = 32_768
"""The most entries of a seal: its leaves are read, hashed and stored at once."""
BEFORE_FIRST: Final = bytes(32)
"""The digest of the seal before the first."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the log: the entries of an epoch from one transaction until before another, and after one id up to one.

    None stands for the beginning or the end of the epoch, and for any id.
    """

    epoch: str
    epoch_began_at: datetime | None
    from_xact_id: int | None
    until_xact_id: int | None
    after_id: int | None
    until_id: int | None


@dataclass(frozen=True, slots=True)
class Seal(Stretch):
    """A seal of a stretch: ``root`` is that of the hash tree over its entries, ``previous`` the last seal's digest.

    ``signature`` is that of ``text`` with the key ``key_id``.
    """

    number: int
    entries: int
    root: bytes
    previous: bytes
    sealed_at: datetime
    key_id: str
    signature: bytes = b""
    version: int = VERSION

    @property
    def text(self) -> str:
        """The text that is signed: JSON with all fields but the signature, in alphabetical order."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "signature"}
        return json.dumps(
            {"kind": KIND} | {name: _json(value) for name, value in values.items()},
            separators=(",", ":"),
            sort_keys=True,
        )

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the text, which the next seal has as ``previous``."""
        return sha256(self.text.encode()).digest()

    @property
    def copy(self) -> dict[str, str]:
        """The text and its signature, for a file or a proof."""
        return {"text": self.text, "signature": base64.b64encode(self.signature).decode()}

    @classmethod
    def of_copy(cls, copy: object) -> Self:
        """Read the form of ``copy``. Raises ProofError if it is damaged; the signature is not verified."""
        try:
            return cls._read(copy)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ProofError("a seal is damaged: its text cannot be read") from error

    @classmethod
    def _read(cls, copy: Any) -> Self:
        values: Mapping[str, Any] = json.loads(copy["text"])
        members: dict[str, Any] = {
            field.name: _READERS.get(field.name, _number)(values[field.name])
            for field in fields(cls)
            if field.name != "signature"
        }
        seal = cls(**members, signature=base64.b64decode(copy["signature"], validate=True))
        if seal.text != copy["text"] or None in (seal.number, seal.entries) or seal.version not in _KNOWN:
            raise ValueError
        return seal


def has_signed(public_key: bytes, text: str, signature: bytes) -> bool:
    """True if this is the Ed25519 signature (RFC 8032) of the text with that key, which has 32 bytes."""
    # cryptography is loaded only to seal or verify
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, text.encode())
    except InvalidSignature:
        return False
    return True


def _json(value: object) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        case bytes():
            return value.hex()
    return value


def _number(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise ValueError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


_READERS: Final[Mapping[str, Callable[[Any], object]]] = {
    "epoch": _text,
    "key_id": _text,
    "root": bytes.fromhex,
    "previous": bytes.fromhex,
    "epoch_began_at": _time,
    "sealed_at": datetime.fromisoformat,
}
