"""Timestamps of seals as RFC 3161 has them: the question to an authority, and the check of its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self

from svc_pg.errors import ConfigError
from svc_pg.seals.verification.seal import Seal

if TYPE_CHECKING:  # cryptography and rfc3161-client are loaded only to ask or to verify
    from cryptography import x509
    from rfc3161_client import TimeStampResponse

    from svc_pg.settings import Settings

MOST_BYTES: Final = 16_384
"""The longest answer."""
TOLERANCE: Final = timedelta(minutes=5)
"""The most by which the clocks of an authority and of the database may differ."""
_LONGEST_FILE: Final = 1_048_576
_LONGEST_WORDS: Final = 200
_GRANTED: Final = 0
_GRANTED_WITH_MODS: Final = 1
_SHA256: Final = "2.16.840.1.101.3.4.2.1"
_CA: Final = "SVC_SEAL_TIMESTAMP_CA"
_MISSING: Final = "timestamps of seals need the package rfc3161-client"

Fault = Literal["timestamp_forged", "timestamp_exchanged", "timestamp_early"]
"""The faults of a timestamp: not of the authority, of another text, or from before its seal."""


class BadTimestamp(Exception):
    """An answer is no timestamp of the seal, for this reason."""

    def __init__(self, kind: Fault, reason: str) -> None:
        super().__init__(reason)
        self.kind: Fault = kind


@dataclass(frozen=True, slots=True)
class Question:
    """A request to an authority, in DER, and its nonce, which the answer repeats."""

    body: bytes
    nonce: int


def question_of(seal: Seal) -> Question:
    """Ask for a timestamp of the SHA-256 of the seal's text. Raises ConfigError without rfc3161-client."""
    try:
        from rfc3161_client import HashAlgorithm, TimestampRequestBuilder
    except ImportError as error:
        raise _missing() from error
    builder = TimestampRequestBuilder(data=seal.text.encode(), hash_algorithm=HashAlgorithm.SHA256)
    request = builder.build()
    if request.nonce is None:  # pragma: no cover - the builder always adds one
        raise AssertionError
    return Question(request.as_bytes(), request.nonce)


class TimestampAuthority:
    """The certificates by which timestamps are trusted: roots, and others between them and the authority's own."""

    def __init__(self, certificates: Sequence["x509.Certificate"]) -> None:
        self._roots = [each for each in certificates if each.issuer == each.subject]
        self._others = [each for each in certificates if each.issuer != each.subject]
        if not self._roots:
            raise ConfigError(f"{_CA}: there is no root certificate", hint="Add the one that is its own issuer.")

    @classmethod
    def of(cls, settings: "Settings") -> Self | None:
        """The one of SVC_SEAL_TIMESTAMP_CA; None if that is not set. Raises ConfigError."""
        return None if settings.seal_timestamp_ca is None else cls.read(settings.seal_timestamp_ca)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file of certificates in PEM. Raises ConfigError, also without rfc3161-client."""
        from cryptography.x509 import load_pem_x509_certificates

        try:
            import rfc3161_client  # noqa: F401 - to tell at once
        except ImportError as error:
            raise _missing() from error
        try:
            with path.open("rb") as file:
                text = file.read(_LONGEST_FILE)
            certificates = load_pem_x509_certificates(text)
        except OSError as error:
            raise ConfigError(f"{_CA}: {path} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise ConfigError(f"{_CA}: {path} has no certificates in PEM") from error
        return cls(certificates)

    def time_of(self, answer: bytes, seal: Seal, *, nonce: int | None = None) -> datetime:
        """The time that an authority certifies for a seal, by its own clock.

        The certificate has to be for timestamps, issued by one of these, and valid at that time. ``nonce`` is that of
        the question, if it is known. Raises BadTimestamp, and ConfigError without rfc3161-client.
        """
        try:
            from rfc3161_client import decode_timestamp_response
        except ImportError as error:
            raise _missing() from error
        try:
            response = decode_timestamp_response(answer)
            status, words = response.status, response.status_string
        except Exception as error:  # whatever a hostile answer makes a parser raise
            raise BadTimestamp("timestamp_forged", "it is no answer of a timestamp authority") from error
        if status != _GRANTED:
            said = " ".join(" ".join(words).split())[:_LONGEST_WORDS]
            did = "changed the request" if status == _GRANTED_WITH_MODS else "refused"
            raise BadTimestamp("timestamp_forged", f"the authority {did}: {said or f'status {status}'}")
        try:
            return self._checked(response, seal, nonce)
        except BadTimestamp:
            raise
        except Exception as error:  # as above
            reason = " ".join(str(error).split())[:_LONGEST_WORDS]
            words_of_it = f"it is not signed by a trusted authority: {reason}"
            raise BadTimestamp("timestamp_forged", words_of_it) from error

    def _checked(self, response: "TimeStampResponse", seal: Seal, nonce: int | None) -> datetime:
        from rfc3161_client import VerifierBuilder

        info = response.tst_info
        imprint = info.message_imprint
        verifier = VerifierBuilder(roots=[*self._roots], intermediates=[*self._others]).build()
        verifier.verify(response, imprint.message)  # its signature, of its own imprint: that is compared below
        if nonce is not None and info.nonce != nonce:
            raise BadTimestamp("timestamp_exchanged", "it answers another request: its nonce is another")
        if imprint.hash_algorithm.dotted_string != _SHA256 or imprint.message != seal.digest:
            raise BadTimestamp("timestamp_exchanged", "it is of another text")
        if info.gen_time < seal.sealed_at - TOLERANCE:
            raise BadTimestamp("timestamp_early", f"its time, {info.gen_time.isoformat()}, is before that of the seal")
        return info.gen_time


def _missing() -> ConfigError:
    return ConfigError(_MISSING, hint="pip install 'svc-pg[timestamps]'")
