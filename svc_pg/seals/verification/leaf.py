"""The leaf of an entry: 48 bytes, its id, its time and the digest of its two parts."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, Self

SIZE: Final = 48
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One entry as its seal knows it: ``time`` is in microseconds since 2000, ``digest`` that of its two parts."""

    id: int
    time: int
    digest: bytes

    @classmethod
    def of(cls, leaf: bytes) -> Self:
        """Read the 48 bytes."""
        return cls(int.from_bytes(leaf[:8], signed=True), int.from_bytes(leaf[8:16], signed=True), leaf[16:])

    def __bytes__(self) -> bytes:
        return self.id.to_bytes(8, signed=True) + self.time.to_bytes(8, signed=True) + self.digest

    @property
    def timestamp(self) -> datetime | None:
        """The time; None if it is one that Python does not know, such as infinity."""
        try:
            return _EPOCH + self.time * _MICROSECOND
        except OverflowError:
            return None


def digest_of(who: str, content_digest: bytes) -> bytes:
    """The digest of an entry by its first part, and the digest of its second."""
    return sha256(sha256_of(who) + content_digest).digest()


def sha256_of(text: str) -> bytes:
    """The digest of a text, also of one with lone surrogates."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def split(leaves: bytes) -> list[bytes]:
    """The leaves of a seal, one by one."""
    return [leaves[start : start + SIZE] for start in range(0, len(leaves), SIZE)]
