"""The key that signs the console's sessions, as a setting holds it."""

from typing import Final

from pydantic import SecretStr

from svc_pg.errors import ConfigError, ConsoleWeakSecretError

MIN_SECRET_LENGTH: Final = 32
PREVIOUS_HASH_VARIABLE: Final = "SVC_CONSOLE_PREVIOUS_CONNECTION_TOKEN_HASH"

_VARIABLE: Final = "SVC_CONSOLE_CONNECTION_TOKEN_HASH"
_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


def signing_key(token_hash: SecretStr | None, *, is_production: bool, variable: str = _VARIABLE) -> bytes:
    """The key that signs sessions: the hexadecimal digits of the hash, as text. So the hash is a secret.

    Raises ConfigError if the hash is missing or not hexadecimal, ConsoleWeakSecretError if it has fewer than 32 digits
    in production.
    """
    hint = "Make one: svc-pg console init"
    if token_hash is None:
        raise ConfigError(f"{variable} is not set, and the console signs its sessions with it", hint=hint)
    digits = token_hash.get_secret_value().removeprefix("sha256:")
    if is_production and len(digits) < MIN_SECRET_LENGTH:
        raise ConsoleWeakSecretError(
            f"{variable} has {len(digits)} characters after sha256:, and production needs {MIN_SECRET_LENGTH}",
            hint=hint,
        )
    if not digits or not _HEX_DIGITS.issuperset(digits):
        raise ConfigError(f"{variable} must be sha256: and hexadecimal digits", hint=hint)
    return digits.encode()
