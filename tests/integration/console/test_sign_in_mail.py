"""Mail goes through a real SMTP server, and no answer depends on it."""

import asyncio
import logging
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from svc_pg.console import Console
from svc_pg.console.sign_in import codes
from svc_pg.console.sign_in.mail import Outbox, SmtpSender, sign_in_mail
from svc_pg.settings.addresses import SmtpServer
from tests.integration.console.serving import PREFIX, serving
from tests.integration.console.signing_in import Device, code_in, magic_settings, new_address, rows
from tests.support.ports import free_port
from tests.support.smtp import PASSWORD, USER, post_office
from tests.support.waiting import wait_until

LOGIN = f"{USER}:{quote(PASSWORD, safe='')}@"


@contextmanager
def serving_with(database: str, **overrides: object) -> Iterator[httpx.Client]:
    console = Console(magic_settings(database, **overrides))
    with (
        serving(console.asgi, proxy_headers=False) as base_url,
        httpx.Client(base_url=base_url + PREFIX) as client,
    ):
        yield client


@pytest.mark.parametrize("login", ["", LOGIN], ids=["open", "login"])
def test_the_code_arrives_through_starttls_and_opens_the_console(
    console_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    email = new_address()
    with post_office(tmp_path, login=bool(login)) as office:
        monkeypatch.setenv("SSL_CERT_FILE", str(office.certificate))
        with serving_with(console_database, console_smtp_url=f"smtp://{login}127.0.0.1:{office.port}") as client:
            device = Device(client, email)
            wait_until(lambda: office.messages, "the mail arrives")
            assert device.verify(code_in(office.messages[0])).status_code == 200
            assert device.claim().status_code == 200
    assert office.recipients == [[email]]
    assert office.was_encrypted == [True]
    assert (office.messages[0]["From"], office.messages[0]["To"]) == ("console@corp.example", email)
    assert office.messages[0]["Auto-Submitted"] == "auto-generated"


# Failures


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ("the mailbox is full", "SMTPDataError 552"),
        ("wrong password", "SMTPAuthenticationError 535"),
        ("no server", "ConnectionRefusedError"),
    ],
)
def test_a_mail_that_fails_changes_no_answer_and_is_told_without_address_and_code(
    console_database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: str,
    told: str,
) -> None:
    email = new_address()
    with post_office(tmp_path, login=failure == "wrong password") as office, caplog.at_level(logging.INFO, "svc_pg"):
        monkeypatch.setenv("SSL_CERT_FILE", str(office.certificate))
        login = f"{USER}:wrong@" if failure == "wrong password" else ""
        port = free_port() if failure == "no server" else office.port
        office.refusal = f"552 no room for the mail to {email}"
        with serving_with(console_database, console_smtp_url=f"smtp://{login}127.0.0.1:{port}") as client:
            device = Device(client, email)
            assert device.begun.status_code == 200
            failed = "select detail from svc.console_events where session_id = %s and event = 'mail_failed'"
            assert wait_until(lambda: rows(console_database, failed, device.session_id)) == [(told,)]
            assert device.poll().json()["status"] == "pending"
    text = "".join(record.getMessage() for record in caplog.records if record.name == "svc_pg.console")
    assert f"session {device.session_id} was not mailed: {told}" in text
    assert email not in text
    assert "no room" not in text


def a_mail() -> EmailMessage:
    return sign_in_mail(
        to="ann@corp.example",
        sender="console@corp.example",
        code="ABCDEF",
        asked_at=datetime.now(UTC),
        address=None,
        browser="curl",
        public_url=None,
    )


def send(url: str) -> None:
    asyncio.run(SmtpSender(SmtpServer.parse(url)).send(a_mail()))


def test_nothing_is_sent_where_the_server_cannot_encrypt(tmp_path: Path) -> None:
    with post_office(tmp_path, starttls=False) as office:
        with pytest.raises(smtplib.SMTPNotSupportedError):
            send(f"smtp://127.0.0.1:{office.port}")
        with pytest.raises(smtplib.SMTPNotSupportedError):
            send(f"smtp://{LOGIN}127.0.0.1:{office.port}")
    assert office.messages == []


def test_nothing_is_sent_to_a_server_whose_certificate_nobody_vouches_for(tmp_path: Path) -> None:
    with post_office(tmp_path) as office, pytest.raises(ssl.SSLCertVerificationError):
        send(f"smtp://127.0.0.1:{office.port}")
    assert office.messages == []


def test_nothing_is_sent_to_a_server_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with post_office(tmp_path) as office:
        monkeypatch.setenv("SSL_CERT_FILE", str(office.certificate))
        with pytest.raises(ssl.SSLCertVerificationError, match="localhost"):
            send(f"smtp://localhost:{office.port}")
    assert office.messages == []


def test_starttls_off_sends_in_the_clear(tmp_path: Path) -> None:
    with post_office(tmp_path, starttls=False) as office:
        send(f"smtp://127.0.0.1:{office.port}?starttls=off")
    assert [code_in(message) for message in office.messages] == ["ABCDEF"]
    assert office.was_encrypted == [False]


# Without a server


def test_in_development_the_code_is_in_the_log(console_database: str, caplog: pytest.LogCaptureFixture) -> None:
    email = new_address()
    with (
        caplog.at_level(logging.WARNING, "svc_pg.console"),
        serving_with(console_database, env="development", console_mail_from=None) as client,
    ):
        device = Device(client, email)
        text = wait_until(lambda: [line for line in caplog.text.splitlines() if line.startswith("    ")])[0]
        assert device.verify(text).status_code == 200


def test_the_end_of_a_console_waits_for_mail_that_is_under_way() -> None:
    class Slow:
        def __init__(self) -> None:
            self.may_end = asyncio.Event()
            self.has_ended = False

        async def send(self, _message: EmailMessage) -> None:
            await self.may_end.wait()
            self.has_ended = True

    async def end_while_sending() -> bool:
        sender = Slow()
        outbox = Outbox(sender)
        async with outbox.opened():
            outbox.post(a_mail, on_failure=fail)
            asyncio.get_running_loop().call_later(0.05, sender.may_end.set)
        return sender.has_ended

    async def fail(kind: str) -> None:
        raise AssertionError(kind)

    assert asyncio.run(end_while_sending())


def test_a_code_is_shown_in_two_halves() -> None:
    assert codes.displayed("ABCDEF") == "ABC-DEF"
    assert code_in(a_mail()) == "ABCDEF"
