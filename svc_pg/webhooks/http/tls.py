"""TLS of private receivers: the trusted authorities of an endpoint, and its client certificate."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Final, Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from svc_pg.errors import EndpointError

_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM texts, which the repr does not show.

    ``ca_bundle`` holds the authorities to trust in place of the system's. ``client_certificate``, with the certificates
    between it and its authority, and ``client_key`` are shown to receivers that ask for one (mTLS); they go together.
    """

    ca_bundle: str | None = field(default=None, repr=False)
    client_certificate: str | None = field(default=None, repr=False)
    client_key: str | None = field(default=None, repr=False)

    def to_json(self) -> str:
        """A text that ``from_json`` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of ``to_json``."""
        return cls(**json.loads(text))


def check_tls(tls: Tls, *, now: datetime | None = None) -> datetime | None:
    """The expiry of the client certificate, if there is one. Raises EndpointError if the texts are unusable."""
    now = now or datetime.now(UTC)
    if tls.ca_bundle is None and tls.client_certificate is None and tls.client_key is None:
        raise EndpointError("tls is empty", hint="Give a CA bundle, a client certificate and its key, or all three.")
    if (tls.client_certificate is None) != (tls.client_key is None):
        raise EndpointError("a client certificate and its key go together", hint="Give both or neither.")
    if tls.ca_bundle is not None:
        authorities = _certificates("the CA bundle", tls.ca_bundle)
        if all(each.not_valid_after_utc <= now for each in authorities):
            raise _ended("the CA bundle", max(authorities, key=lambda each: each.not_valid_after_utc))
    if tls.client_certificate is None or tls.client_key is None:
        return None
    chain = _certificates("the client certificate", tls.client_certificate)
    for certificate in chain:
        if certificate.not_valid_after_utc <= now:
            raise _ended("the client certificate", certificate)
    if _spki(chain[0].public_key()) != _public_key(tls.client_key):
        raise EndpointError(
            "the client key does not belong to the client certificate",
            hint="The certificate comes first in its file, then the ones between it and its authority.",
        )
    return min(certificate.not_valid_after_utc for certificate in chain)


def _certificates(what: str, text: str) -> Sequence[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(_bounded(what, text))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise EndpointError(
            f"{what} is not a certificate in PEM", hint="It begins with -----BEGIN CERTIFICATE-----."
        ) from error


def _public_key(text: str) -> bytes:
    content = _bounded("the client key", text)
    try:
        return _spki(load_pem_private_key(content, password=None).public_key())  # type: ignore[arg-type]
    except TypeError as error:
        raise EndpointError(
            "the client key is encrypted", hint="Decrypt it (openssl pkey -in key.pem); svc-pg encrypts it itself."
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise EndpointError(
            "the client key is not a private key in PEM", hint="It begins with -----BEGIN PRIVATE KEY-----."
        ) from error


def _spki(key: CertificatePublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _bounded(what: str, text: str) -> bytes:
    content = text.encode(errors="replace")
    if len(content) > _MAX_BYTES:
        raise EndpointError(f"{what} has {len(content)} bytes", hint=f"At most {_MAX_BYTES} are accepted.")
    return content


def _ended(what: str, certificate: x509.Certificate) -> EndpointError:
    return EndpointError(
        f"{what} has ended: {certificate.subject.rfc4514_string()}, {certificate.not_valid_after_utc:%Y-%m-%d %H:%M}Z",
        hint="Give one that is valid.",
    )
