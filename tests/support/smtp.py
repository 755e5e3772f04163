"""A real SMTP server on the loopback interface, with a certificate of its own authority."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword

from tests.support.certificates import authority
from tests.support.ports import free_port

USER, PASSWORD = "console", "p@ss:w/rd"


@dataclass
class PostOffice:
    """The received mails. ``refusal`` answers the next mails instead of accepting them."""

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
    """Enter to get a server. Mail needs the options that are on; ``certificate`` is that of the authority to trust."""
    signer = authority(folder)
    certificate = folder / "authority.pem"
    certificate.write_text(signer.pem)
    office = PostOffice(free_port(), certificate)
    controller = Controller(
        office,
        hostname="127.0.0.1",
        port=office.port,
        tls_context=signer.server() if starttls else None,
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
