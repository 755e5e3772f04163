"""Seal secrets for the database with AES-256-GCM, and open them again."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from svc_pg.errors import EncryptionKeyError
from svc_pg.settings import encryption_keys

if TYPE_CHECKING:
    from svc_pg.settings import Settings

# A sealed value is bound to one of these and its endpoint's id. The previous secret stays bound to SECRET_COLUMN, the
# previous signing key to SIGNING_KEY_COLUMN.
SECRET_COLUMN: Final = "webhook_endpoints.secret"  # noqa: S105 - the name of a column
HEADERS_COLUMN: Final = "webhook_endpoints.headers"
SIGNING_KEY_COLUMN: Final = "webhook_endpoints.signing_key"
TLS_COLUMN: Final = "webhook_endpoints.tls"

_VERSION: Final = 1
_NONCE_BYTES: Final = 12


@dataclass(frozen=True, repr=False)
class KeyRing:
    """Keys by id, newest first: the first seals, all open. Its repr shows the ids only."""

    keys: Mapping[str, bytes]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``k2:base64(32 bytes),k1:...``. Raises EncryptionKeyError that names the entry and shows no key."""
        try:
            return cls(encryption_keys.parse(text))
        except ValueError as error:
            raise EncryptionKeyError(f"encryption {error}") from error

    @classmethod
    def of(cls, settings: "Settings") -> Self:
        """The key ring of the settings. Raises EncryptionKeyError if they hold none."""
        if settings.encryption_keys is None:
            raise EncryptionKeyError(
                "SVC_ENCRYPTION_KEYS is not set",
                hint="Set what the other workers and consoles have. The very first: svc-pg keys new encryption",
            )
        return cls.parse(settings.encryption_keys.get_secret_value())

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.keys)})"

    @property
    def mark(self) -> bytes:
        """The prefix of every value that this ring seals now: version, length of the key's id, the id."""
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
        """Decrypt a sealed value. Raises EncryptionKeyError if no key opens it for this owner and column."""
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
    """A new entry for a key ring: ``key_id`` and 32 random bytes in base64. Raises EncryptionKeyError."""
    if not encryption_keys.is_id(key_id):
        raise EncryptionKeyError(
            f"{key_id!r} cannot be the id of a key", hint="Write 1 to 32 letters, digits, hyphens and underscores."
        )
    return encryption_keys.text_of({key_id: os.urandom(encryption_keys.KEY_BYTES)})


def _bound(header: bytes, owner: str, column: str) -> bytes:
    """The associated data. Each field follows its length, so that no two columns of two rows have the same data."""
    fields = (header, owner.encode(), column.encode())
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)
