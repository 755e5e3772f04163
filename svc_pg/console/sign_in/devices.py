"""Tokens of devices that have signed in before, so that strangers cannot use up the mails of the people who use them.

A device shows its token when a sign-in begins; it then has limits of its own. It opens nothing by itself.
https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KNOWN_FOR: Final = timedelta(days=90)

_MAX_CHARACTERS: Final = 2000
_KEY_PURPOSE: Final = b"svc-pg console: known devices"
_ALGORITHM: Final = "HS256"
_REQUIRED: Final = ["sub", "exp", "jti"]


def device_token(signing_key: bytes, email: str, *, now: datetime) -> str:
    """A token for the device that has just signed in with this address."""
    claims = {"sub": email, "exp": int((now + KNOWN_FOR).timestamp()), "jti": uuid4().hex}
    return jwt.encode(claims, _key(signing_key), algorithm=_ALGORITHM)


def known_device(signing_keys: Sequence[bytes], email: str, token: str | None) -> str | None:
    """The id of a device that has signed in with this address; None if the token does not prove that."""
    if token is None or len(token) > _MAX_CHARACTERS:
        return None
    for key in signing_keys:
        try:
            claims = jwt.decode(token, _key(key), algorithms=[_ALGORITHM], options={"require": _REQUIRED})
        except (jwt.PyJWTError, OverflowError, RecursionError):
            continue
        return str(claims["jti"]) if claims["sub"] == email else None
    return None


def _key(signing_key: bytes) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=_KEY_PURPOSE).derive(signing_key)
