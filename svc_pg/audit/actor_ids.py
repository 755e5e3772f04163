"""The ids of actors as entries of PostgreSQL name them: as ``svc.audit_actor``."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

_MOST_BYTES: Final = 1000
_BEGINNING: Final = 100


def recorded(actor_ids: Iterable[str]) -> list[str]:
    """The ids; of one that is too long for an index, also its beginning with its size and SHA-256."""
    return list(dict.fromkeys(name for actor_id in actor_ids for name in (actor_id, _bounded(actor_id))))


def _bounded(actor_id: str) -> str:
    text = actor_id.encode()
    if len(text) <= _MOST_BYTES:
        return actor_id
    return f"{actor_id[:_BEGINNING]}... ({len(text)} bytes, sha256 {sha256(text).hexdigest()})"
