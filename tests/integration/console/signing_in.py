"""Sign in by magic link: a console that mails into a list, and a device as its client."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from itertools import count
from typing import Any, LiteralString

import httpx
import psycopg
from pydantic import SecretStr

from svc_pg.console import Console
from svc_pg.console.sign_in import codes
from svc_pg.console.sign_in.mail import EmailSender
from svc_pg.settings import Settings
from tests.integration.console.serving import KEY, PREFIX, serving, shop
from tests.support.http_clients import client_for_threads
from tests.support.waiting import wait_until

ALLOWED = {
    "ann@corp.example": "admin",
    "*@corp.example": "write",
    "*@read.example": "read",
    "*@admin.example": "admin",
}

_numbers = count(1)


class Mailbox:
    """An EmailSender that keeps its mails."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []

    async def send(self, message: EmailMessage) -> None:
        self.messages.append(message)

    def to(self, address: str) -> list[EmailMessage]:
        return [message for message in self.messages if message["To"] == address]

    def code(self, address: str) -> str:
        """Wait for a mail to an address, and return the newest code."""
        wait_until(lambda: self.to(address), f"there is a mail to {address}")
        return code_in(self.to(address)[-1])


def code_in(message: EmailMessage) -> str:
    found = re.search(r"^    ([A-Z2-9]{3})-([A-Z2-9]{3})\r?$", message.get_content(), re.MULTILINE)
    assert found is not None
    return found[1] + found[2]


def new_address(domain: str = "corp.example") -> str:
    """A new address, so that no limit is reached."""
    return f"person{next(_numbers)}@{domain}"


def new_ip() -> str:
    """A new IP address; the console believes it, because 127.0.0.1 is a trusted proxy."""
    number = next(_numbers)
    return f"198.51.{number // 250}.{number % 250 + 1}"


def magic_settings(database: str, **overrides: object) -> Settings:
    return Settings.load(
        **{
            "env": "production",
            "database_url": database,
            "console_connection_token_hash": SecretStr(f"sha256:{KEY.decode()}"),
            "console_allowed_emails": ALLOWED,
            "console_mail_from": "console@corp.example",
            "console_trusted_proxies": ["127.0.0.1"],
            **overrides,
        }
    )


@contextmanager
def serving_magic(database: str, sender: EmailSender, **overrides: object) -> Iterator[httpx.Client]:
    """Serve a production console with mail to ``sender``, and return a client of it."""
    console = Console(magic_settings(database, **overrides), products=[shop()], email_sender=sender)
    with (
        serving(console.asgi, proxy_headers=False) as base_url,
        client_for_threads(base_url + PREFIX, timeout=30) as client,
    ):
        yield client


class Device:
    """One sign-in from one IP address."""

    def __init__(self, client: httpx.Client, email: str, *, ip: str | None = None, **headers: str) -> None:
        self.client = client
        self.email = email
        self.headers = {"X-Forwarded-For": ip or new_ip(), **headers}
        self.begun = client.post("/console/session/init", json={"email": email}, headers=self.headers)
        document = self.begun.json()
        self.session_id = document.get("sessionId", "")
        self.bearer = {"Authorization": f"Bearer {document.get('deviceToken', '')}"}

    def verify(self, code: str, **headers: str) -> httpx.Response:
        body = {"sessionId": self.session_id, "code": code}
        return self.client.post("/console/session/verify", json=body, headers=self.headers | self.bearer | headers)

    def poll(self) -> httpx.Response:
        return self.client.get(
            "/console/session/poll", params={"sessionId": self.session_id}, headers=self.headers | self.bearer
        )

    def claim(self) -> httpx.Response:
        body = {"sessionId": self.session_id}
        return self.client.post("/console/session/claim", json=body, headers=self.headers | self.bearer)


def sign_in(client: httpx.Client, mailbox: Mailbox, email: str) -> dict[str, str]:
    """Sign in with an address, and return the header with the session."""
    device = Device(client, email)
    assert device.verify(mailbox.code(email)).status_code == 200
    return {"Authorization": f"Bearer {device.claim().json()['sessionToken']}"}


def wrong(code: str) -> str:
    """A wrong code of the right form."""
    return ("B" if code[0] == "A" else "A") + code[1:]


def move(database: str, statement: LiteralString, *params: object) -> None:
    """Let time pass for some rows, by changing them in the database."""
    with psycopg.connect(database) as conn:
        assert conn.execute(statement, params).rowcount > 0


def rows(database: str, text: LiteralString, *params: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(database) as conn:
        return conn.execute(text, params).fetchall()


ANY_CODE = codes.ALPHABET[: codes.LENGTH]
