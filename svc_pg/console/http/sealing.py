"""Seal values that a browser or a table keeps for the pages: nobody else can read them, and they expire."""

import json
import os
import time
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import JsonValue

_PURPOSE: Final = b"svc-pg console pages"
_NONCE_BYTES: Final = 12


class Sealer:
    """Seals with a key derived from the first of those that sign sessions, and opens with all.

    What was sealed for one ``purpose`` and one person or session, ``whose``, opens for no other.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [
            AESGCM(HKDF(SHA256(), length=32, salt=None, info=_PURPOSE).derive(key))  # RFC 5869
            for key in keys
        ]

    def sealed(self, value: JsonValue, *, purpose: str, whose: str, seconds: int) -> str:
        """A text of the characters that a cookie may have. It opens for ``seconds``."""
        content = zlib.compress(json.dumps([int(time.time()) + seconds, value]).encode())
        nonce = os.urandom(_NONCE_BYTES)
        return urlsafe_b64encode(nonce + self._ciphers[0].encrypt(nonce, content, _bound(purpose, whose))).decode()

    def opened(self, text: str, *, purpose: str, whose: str) -> JsonValue:
        """The value that was sealed; None if the text is anything else, or its time is over."""
        with suppress(ValueError):
            content = urlsafe_b64decode(text)
            for cipher in self._ciphers:
                with suppress(InvalidTag):
                    opened = cipher.decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], _bound(purpose, whose))
                    ends_at, value = json.loads(zlib.decompress(opened))
                    return value if time.time() < ends_at else None
        return None


def _bound(purpose: str, whose: str) -> bytes:
    return f"{purpose}\0{whose}".encode()
