"""Read keys as the environment spells them: ``k2:base64(32 bytes),k1:...``, newest first."""

import base64
import re
from collections.abc import Mapping
from typing import Final

KEY_BYTES: Final = 32

_MADE_BY: Final = "svc-pg keys new encryption"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")


def parse(text: str, *, made_by: str = _MADE_BY) -> dict[str, bytes]:
    """Keys by id, in the order of the text. Raises ValueError that names the entry and shows no key."""
    form = f"write id:key, separated by commas; {made_by} prints one"
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(text.split(","), start=1):
        key_id, colon, encoded = entry.strip().partition(":")
        if not colon or not is_id(key_id):  # not shown: it may be a key without its id
            raise ValueError(f"key {number} does not begin with an id; {form}")
        if key_id in keys:
            raise ValueError(f'key {number} has the id "{key_id}" of another; {form}')
        keys[key_id] = _key(encoded, name=f'key {number}, "{key_id}",', form=form)
    return keys


def text_of(keys: Mapping[str, bytes]) -> str:
    """The text that ``parse`` reads."""
    return ",".join(f"{key_id}:{base64.b64encode(key).decode()}" for key_id, key in keys.items())


def is_id(text: str) -> bool:
    """True if a key can have this id: 1 to 32 letters, digits, hyphens and underscores."""
    return _ID.fullmatch(text) is not None


def _key(encoded: str, *, name: str, form: str) -> bytes:
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:  # not chained: its text could quote the key
        raise ValueError(f"{name} is not base64; {form}") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"{name} has {len(key)} bytes, not {KEY_BYTES}; {form}")
    return key
