"""Codes that are mailed to people who sign in: make them, read them as people type them, hash them under a key."""

import hmac
import secrets
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 characters, so that each is equally likely; none that people confuse: I and 1, O and 0."""
LENGTH: Final = 6

_KEY_PURPOSE: Final = b"svc-pg console: sign-in codes"


def new_code() -> str:
    """A random code: 30 bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def displayed(code: str) -> str:
    """The code as the mail shows it: ``ABC-DEF``."""
    return f"{code[: LENGTH // 2]}-{code[LENGTH // 2 :]}"


def typed_code(text: str) -> str | None:
    """The code that somebody typed, or None if no code looks like this. Case, spaces and hyphens do not matter."""
    code = "".join(text.split()).replace("-", "")
    if len(code) != LENGTH or not code.isascii() or not set(code.upper()) <= set(ALPHABET):
        return None
    return code.upper()


def hashing_key(signing_key: bytes) -> bytes:
    """The key of code hashes, derived (HKDF, RFC 5869) from the key that signs sessions.

    A search through 30 bits takes two minutes, well within the life of a code. So a hash without a key would let
    whoever reads the table sign in as anybody who is signing in.
    """
    return HKDF(SHA256(), length=32, salt=None, info=_KEY_PURPOSE).derive(signing_key)


def code_hash(key: bytes, session_id: UUID, code: str) -> bytes:
    """HMAC-SHA-256 over the session and the code, so that equal codes of two sessions have different hashes."""
    return hmac.digest(key, f"{session_id}\0{code}".encode(), "sha256")
