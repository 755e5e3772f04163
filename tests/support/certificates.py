"""Certificates of receivers, and an authority that signs them."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    """An authority, which signs the certificates of servers; ``folder`` is for the files of ssl."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def server(self, address: str = "127.0.0.1", *, expires: timedelta = DAY) -> ssl.SSLContext:
        """The TLS context of a server with a certificate for this address, expired if ``expires`` is negative."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(address, key, issuer=self.certificate.subject, expires=expires)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, SHA256())
        )
        return _context(self.folder / "receiver.pem", key, certificate)

    def asking_server(self) -> ssl.SSLContext:
        """As ``server``, but it requires a certificate of this authority from its clients, too."""
        context = self.server()
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self.pem)
        return context

    def client(self, name: str = "sender", *, expires: timedelta = DAY) -> tuple[str, str]:
        """A certificate for a client and its key, in PEM; expired if ``expires`` is negative."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _builder(name, key, issuer=self.certificate.subject, expires=expires).sign(self.key, SHA256())
        return _pem(certificate).decode(), _private_pem(key).decode()

    @property
    def pem(self) -> str:
        """The certificate of the authority, in PEM."""
        return _pem(self.certificate).decode()

    def trusted(self) -> ssl.SSLContext:
        """The TLS context of a client that trusts this authority alone."""
        return ssl.create_default_context(cadata=self.pem)


def authority(folder: Path, *, expires: timedelta = DAY) -> Authority:
    """A new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder("authority", key, expires=expires)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    return Authority(folder, key, certificate)


def self_signed(folder: Path) -> ssl.SSLContext:
    """The TLS context of a server with a self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _context(folder / "receiver.pem", key, _builder("127.0.0.1", key).sign(key, SHA256()))


def _builder(
    name: str, key: ec.EllipticCurvePrivateKey, *, issuer: x509.Name | None = None, expires: timedelta = DAY
) -> x509.CertificateBuilder:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    until = datetime.now(UTC) + expires
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer or subject, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(until - 2 * DAY)
        .not_valid_after(until)
    )


def _context(file: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
    file.write_bytes(_private_pem(key) + _pem(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
