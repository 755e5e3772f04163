"""Seal secrets for the database with AES-256-GCM, and open them again."""

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from svc_pg.errors import EncryptionKeyError

_VERSION = 1
_KEY_BYTES = 32
_NONCE_BYTES = 12
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_FORM = "Write id:key, separated by commas; svc-pg keys new encryption prints one."


@dataclass(frozen=True, repr=False)
class KeyRing:
    """Keys by id, newest first: the first seals, all open. Its repr shows the ids only."""

    keys: Mapping[str, bytes]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``k2:base64(32 bytes),k1:...``. Raises EncryptionKeyError that names the entry and shows no key."""
        keys: dict[str, bytes] = {}
        for number, entry in enumerate(text.split(","), start=1):
            key_id, colon, encoded = entry.strip().partition(":")
            if not colon or not _KEY_ID.fullmatch(key_id):  # not shown: it may be a key without its id
                raise EncryptionKeyError(f"encryption key {number}: it does not begin with an id", hint=_FORM)
            if key_id in keys:
                raise EncryptionKeyError(f'encryption key {number}: id "{key_id}" is used twice', hint=_FORM)
            keys[key_id] = _key(encoded, where=f'encryption key {number}, "{key_id}"')
        return cls(keys)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.keys)})"

    @property
    def mark(self) -> bytes:
        """How everything begins that this ring seals now: version, length of the key's id, the id."""
        key_id = next(iter(self.keys))
        return bytes([_VERSION, len(key_id)]) + key_id.encode()

    def seal(self, plaintext: str, *, owner: str, column: str) -> bytes:
        """Encrypt for one column of one row: version, key id and its length, nonce, ciphertext.

        The result opens only with the same owner and column, so that a value copied to another row is of no use.
        """
        key, header = next(iter(self.keys.values())), self.mark
        nonce = os.urandom(_NONCE_BYTES)
        return header + nonce + AESGCM(key).encrypt(nonce, plaintext.encode(), _bound(header, owner, column))

    def open(self, sealed: bytes, *, owner: str, column: str) -> str:
        """Decrypt what ``seal`` returned. Raises EncryptionKeyError where no key opens it for this owner and column."""
        what = f"{column} of {owner}"
        if len(sealed) < 2 or sealed[0] != _VERSION:
            raise EncryptionKeyError(f"{what} is not a sealed secret", hint="Was it written by a newer svc-pg?")
        end = 2 + sealed[1]
        header, nonce, ciphertext = sealed[:end], sealed[end : end + _NONCE_BYTES], sealed[end + _NONCE_BYTES :]
        key_id = header[2:].decode("ascii", errors="backslashreplace")
        if key_id not in self.keys:
            raise EncryptionKeyError(
                f'{what} is sealed with key "{key_id}", and the key ring has: {", ".join(self.keys)}',
                hint=f"Add {key_id} to SVC_ENCRYPTION_KEYS, after the first.",
            )
        try:
            return AESGCM(self.keys[key_id]).decrypt(nonce, ciphertext, _bound(header, owner, column)).decode()
        except (InvalidTag, ValueError) as error:
            raise EncryptionKeyError(
                f'{what} does not open with key "{key_id}"',
                hint="The key has another value than the one that sealed it, or the stored value was changed or moved.",
            ) from error


def new_key(key_id: str) -> str:
    """A new entry for a key ring: ``key_id`` and 32 random bytes in base64."""
    entry = f"{key_id}:{base64.b64encode(os.urandom(_KEY_BYTES)).decode()}"
    KeyRing.parse(entry)
    return entry


def _key(encoded: str, *, where: str) -> bytes:
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:  # not chained: its text could quote the key
        raise EncryptionKeyError(f"{where}: the key is not base64", hint=_FORM) from None
    if len(key) != _KEY_BYTES:
        raise EncryptionKeyError(f"{where}: the key has {len(key)} bytes, not {_KEY_BYTES}", hint=_FORM)
    return key


def _bound(header: bytes, owner: str, column: str) -> bytes:
    """The associated data. Lengths go first, so that no two places have the same."""
    fields = (header, owner.encode(), column.encode())
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)
