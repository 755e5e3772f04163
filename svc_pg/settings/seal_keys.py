"""Read the keys of seals as the environment spells them: ``s1:base64(32 bytes)``."""

from typing import Final

from svc_pg.settings import encryption_keys

_MADE_BY: Final = "svc-pg keys new seal"


def parse_private(text: str) -> tuple[str, bytes]:
    """The id and the seed of the one key that signs. Raises ValueError, which shows no key."""
    keys = encryption_keys.parse(text, made_by=_MADE_BY)
    if len(keys) > 1:
        raise ValueError("there are several keys, and one signs; write id:key. Older ones only need their public keys")
    [(key_id, seed)] = keys.items()
    return key_id, seed


def parse_public(text: str) -> dict[str, bytes]:
    """Public keys by id. Raises ValueError."""
    return encryption_keys.parse(text, made_by=_MADE_BY)
