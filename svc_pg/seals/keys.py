"""The key that signs seals, and the public keys that verify them (Ed25519)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self

from svc_pg.errors import EncryptionKeyError
from svc_pg.seals.verification import seal
from svc_pg.settings import encryption_keys, seal_keys

if TYPE_CHECKING:  # cryptography is loaded only to seal or verify
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from svc_pg.settings import Settings


@dataclass(frozen=True)
class SealKey:
    """A key that signs seals, with its id. Its repr shows the id only."""

    key_id: str
    seed: bytes = field(repr=False)

    @classmethod
    def new(cls, key_id: str) -> Self:
        """A random key. Raises EncryptionKeyError if a key cannot have this id."""
        if not encryption_keys.is_id(key_id):
            raise EncryptionKeyError(
                f'"{key_id}" cannot be the id of a key', hint="Use 1 to 32 letters, digits, hyphens and underscores."
            )
        return cls(key_id, os.urandom(encryption_keys.KEY_BYTES))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``s1:base64(32 bytes)``. Raises EncryptionKeyError, which shows no key."""
        try:
            return cls(*seal_keys.parse_private(text))
        except ValueError as error:
            raise EncryptionKeyError(f"seal {error}") from error

    @classmethod
    def of(cls, settings: "Settings") -> Self:
        """The one of the settings. Raises EncryptionKeyError if they have none, or another public key with its id."""
        if settings.seal_key is None:
            raise EncryptionKeyError(
                "SVC_SEAL_KEY is not set, and it signs the seals of the audit log",
                hint="Set the key of the last seals. The very first: svc-pg keys new seal",
            )
        key = cls.parse(settings.seal_key.get_secret_value())
        public = key.public.keys
        if settings.seal_public_keys is not None:
            public = {**public, **PublicKeys.parse(settings.seal_public_keys).keys}
        if public[key.key_id] != key.public.keys[key.key_id]:
            raise EncryptionKeyError(
                f'SVC_SEAL_PUBLIC_KEYS has another key with the id "{key.key_id}" than SVC_SEAL_KEY',
                hint="Each new key needs a new id: svc-pg keys new seal --id s2",
            )
        return key

    @property
    def text(self) -> str:
        """The key as ``parse`` reads it: a secret."""
        return encryption_keys.text_of({self.key_id: self.seed})

    @property
    def public(self) -> "PublicKeys":
        """The public key, which verifies the signatures of this key."""
        return PublicKeys({self.key_id: self._private.public_key().public_bytes_raw()})

    def sign(self, text: str) -> bytes:
        """The signature of a text: 64 bytes."""
        return self._private.sign(text.encode())

    @cached_property
    def _private(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed)


@dataclass(frozen=True)
class PublicKeys:
    """The public keys of all seals, by id."""

    keys: Mapping[str, bytes]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``s1:base64(32 bytes),s2:...``. Raises EncryptionKeyError that names the entry."""
        try:
            return cls(seal_keys.parse_public(text))
        except ValueError as error:
            raise EncryptionKeyError(f"public {error}") from error

    @classmethod
    def of(cls, settings: "Settings") -> Self:
        """Those of the settings, with that of the key that signs. Raises EncryptionKeyError if they have none."""
        given = {} if settings.seal_public_keys is None else cls.parse(settings.seal_public_keys).keys
        own = {} if settings.seal_key is None else SealKey.of(settings).public.keys
        if not given and not own:
            raise EncryptionKeyError(
                "SVC_SEAL_PUBLIC_KEYS is not set, and it verifies the seals of the audit log",
                hint="Set what svc-pg keys new seal printed beside the key that signs, with those of older keys.",
            )
        return cls({**given, **own})

    @property
    def text(self) -> str:
        """The keys as ``parse`` reads them."""
        return encryption_keys.text_of(self.keys)

    def has_signed(self, key_id: str, text: str, signature: bytes) -> bool:
        """True if the key of this id, which must be known, signed the text."""
        return seal.has_signed(self.keys[key_id], text, signature)
