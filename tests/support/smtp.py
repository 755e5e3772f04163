"""A real SMTP server on the loopback interface, with a certificate of its own."""

import ipaddress
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "console", "p@ss:w/rd"


@dataclass
class PostOffice:
    """The mails that arrived. ``refusal`` answers the next mails instead of taking them."""

    port: int
    certificate: Path
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    was_encrypted: list[bool] = field(default_factory=list)
    refusal: str | None = None

    async def handle_DATA(self, _server: object, session: Any, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd
        if self.refusal is not None:
            return self.refusal
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.recipients.append(list(envelope.rcpt_tos))
        self.was_encrypted.append(session.ssl is not None)
        self.messages.append(message)
        return "250 taken"


@contextmanager
def post_office(folder: Path, *, starttls: bool = True, login: bool = False) -> Iterator[PostOffice]:
    """Enter to get a server; a client that believes ``certificate`` can encrypt. Mail needs what is switched on."""
    certificate, key = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    office = PostOffice(port=port, certificate=certificate)
    controller = Controller(
        office,
        hostname="127.0.0.1",
        port=port,
        tls_context=context if starttls else None,
        require_starttls=starttls,
        authenticator=_authenticate if login else None,
        auth_required=login,
    )
    controller.start()
    try:
        yield office
    finally:
        controller.stop()


def _authenticate(_server: object, _session: object, _envelope: object, _mechanism: str, data: object) -> AuthResult:
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_right, handled=is_right)


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths
