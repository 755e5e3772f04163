"""A secret that a form made: shown on the page to which the form leads, from a sealed cookie of a few minutes.

So a reload of that page makes no other secret; and a form that is sent again, with the key that it was made with, leads
to the same page.
"""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SECONDS: Final = 300
_PURPOSE: Final = b"svc-pg console secrets shown once"
_NONCE_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class Shown:
    """The ``secret`` that a form with this ``key`` made, and the ``address`` of the page that shows it."""

    key: str
    address: str
    secret: str


class Sealer:
    """Seals for one session, with a key derived from the first of those that sign sessions; opens with all."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [
            AESGCM(HKDF(SHA256(), length=32, salt=None, info=_PURPOSE).derive(key))  # RFC 5869
            for key in keys
        ]

    def sealed(self, shown: Shown, *, session_id: str) -> str:
        """The text of a cookie."""
        nonce = os.urandom(_NONCE_BYTES)
        content = json.dumps(asdict(shown)).encode()
        return urlsafe_b64encode(nonce + self._ciphers[0].encrypt(nonce, content, session_id.encode())).decode()

    def opened(self, text: str, *, session_id: str) -> Shown | None:
        """The secret that was sealed for this session; None if the text is anything else."""
        with suppress(ValueError):
            content = urlsafe_b64decode(text)
            for cipher in self._ciphers:
                with suppress(InvalidTag):
                    opened = cipher.decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], session_id.encode())
                    return Shown(**json.loads(opened))
        return None
