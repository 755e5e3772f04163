"""The ids of actors and the keys of records as entries of PostgreSQL name them: as ``svc.audit_bounded``."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

_MOST_BYTES: Final = 1000
_BEGINNING: Final = 100


def bounded(name: str) -> str:
    """The id or key; of one that is too long for an index, its beginning with its size and SHA-256."""
    text = name.encode()
    if len(text) <= _MOST_BYTES:
        return name
    return f"{name[:_BEGINNING]}... ({len(text)} bytes, sha256 {sha256(text).hexdigest()})"


def all_bounded(names: Iterable[str]) -> list[str]:
    """The same of several, each once."""
    return list(dict.fromkeys(map(bounded, names)))
