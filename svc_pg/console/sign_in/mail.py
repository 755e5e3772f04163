"""The mail that brings a sign-in code, and the ways to send it."""

import logging
import smtplib
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import Final, Protocol

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from svc_pg.console.http.background import Background
from svc_pg.console.sign_in import codes
from svc_pg.settings.addresses import SmtpServer

SMTP_TIMEOUT_SECONDS: Final = 10
SHUTDOWN_SECONDS: Final = 10

logger = logging.getLogger("svc_pg.console")


class EmailSender(Protocol):
    """An interface to anything that sends mail. It is called after the answer to the request, and may raise."""

    async def send(self, message: EmailMessage) -> None:
        """Send one message to the address in its To."""


class SmtpSender:
    """Sends through an SMTP server, each mail in a thread and with a connection of its own, four at a time."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._tls = ssl.create_default_context()
        # asyncio has few threads of its own, and database connections need them to look up names
        self._threads = CapacityLimiter(4)

    async def send(self, message: EmailMessage) -> None:
        """Send one message. Raises OSError, of which SMTPException is a subclass, if the server does not take it."""
        await run_sync(self._send, message, limiter=self._threads)

    def _send(self, message: EmailMessage) -> None:
        server = self._server
        with smtplib.SMTP(server.host, server.port, timeout=SMTP_TIMEOUT_SECONDS) as smtp:
            if server.starttls:
                smtp.starttls(context=self._tls)
            if server.user is not None and server.password is not None:
                smtp.login(server.user, server.password)
            smtp.send_message(message)


class LogSender:
    """Logs the mail instead of sending it, for development: every reader of the log can sign in."""

    async def send(self, message: EmailMessage) -> None:
        """Log one message."""
        logger.warning("mail to %s, not sent:\n%s", message["To"], message.get_content())


def sign_in_mail(
    *,
    to: str,
    sender: str,
    code: str,
    asked_at: datetime,
    address: str | None,
    browser: str,
    public_url: str | None,
) -> EmailMessage:
    """The mail with a code. It contains no text from the request."""
    where = f"\nThe console is at {public_url}\n" if public_url else ""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = "Your code to sign in to the console"
    message["Date"] = format_datetime(asked_at)
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(
        f"""\
Your code is

    {codes.displayed(code)}

It is good for ten minutes, once, and only in the window that asked for it.
{where}
Who asked:

    address  {address or "unknown"}
    browser  {browser}
    time     {asked_at:%Y-%m-%d %H:%M:%S %Z}

If that was not you, do nothing: without this code nobody gets in. Never tell it
to anybody, whoever asks for it.
"""
    )
    return message


class Outbox:
    """Sends mail in the background, so that no answer waits for it or depends on it."""

    def __init__(self, sender: EmailSender) -> None:
        self._sender = sender
        self._sending = Background(shutdown_seconds=SHUTDOWN_SECONDS)

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Wait, at the end of the block, for mail that is under way."""
        return self._sending.opened()

    def post(self, write: Callable[[], EmailMessage], *, on_failure: Callable[[str], Awaitable[None]]) -> None:
        """Write and send a mail as soon as there is nothing else to do.

        ``on_failure`` gets only the kind of a failure, because its text may contain the address or the mail.
        """
        self._sending.start(self._deliver(write, on_failure))

    async def _deliver(self, write: Callable[[], EmailMessage], on_failure: Callable[[str], Awaitable[None]]) -> None:
        try:
            await self._sender.send(write())
        except Exception as error:  # noqa: BLE001 - a sender is the application's own, and nobody awaits this task
            status = getattr(error, "smtp_code", None)
            await on_failure(type(error).__name__ if status is None else f"{type(error).__name__} {status}")
