"""The link of ``svc-pg console sign-in``: opened by programs it does nothing, sent by a person it signs in, once."""

from collections.abc import Callable

import httpx
import psycopg
import pytest

from svc_pg import audit
from svc_pg.console.sign_in import shell_links
from svc_pg.console.sign_in.shell_links import ShellLink
from svc_pg.errors import ConfigError
from tests.integration.console.browsing import Browser
from tests.integration.console.serving import assert_problem
from tests.integration.console.signing_in import Mailbox, magic_settings, move, new_address, new_ip, rows

SESSION = "__Secure-svc_console"
Make = Callable[[str], ShellLink]


@pytest.fixture
def make(console_database: str) -> Make:
    def make(email: str) -> ShellLink:
        with psycopg.connect(console_database) as conn, audit.actor(conn, "root"):
            return shell_links.make(conn, email, magic_settings(console_database))

    return make


@pytest.fixture
def browser(magic: httpx.Client) -> Browser:
    return Browser(magic, **{"X-Forwarded-For": new_ip()})


def test_the_button_signs_in_once_and_opening_the_link_does_nothing(
    browser: Browser, magic: httpx.Client, make: Make, console_database: str
) -> None:
    email = new_address("admin.example")
    link = make(email.upper())
    for _ in range(3):  # a mail scanner, a preview, a person
        page = browser.get(f"/sign-in/link?token={link.token}")
        assert page.status_code == 200
        assert SESSION not in browser.cookies
    assert page.headers["referrer-policy"] in ("same-origin", "no-referrer")
    assert magic.head(f"/ui/sign-in/link?token={link.token}").status_code == 200
    signed_in = browser.post("/sign-in/link", {"token": link.token})
    assert signed_in.status_code == 200
    assert email in signed_in.text
    assert SESSION in browser.cookies
    again = Browser(magic)
    refused = again.post("/sign-in/link", {"token": link.token})
    assert (refused.status_code, "not good any more" in refused.text) == (409, True)
    assert SESSION not in again.cookies
    events = rows(console_database, "select event, detail from svc.console_events where email = %s order by id", email)
    assert events == [("link_made", "by root"), ("signed_in", None)]


def test_a_form_of_another_site_completes_no_link(browser: Browser, make: Make) -> None:
    link = make(new_address("admin.example"))
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {}):
        answer = browser.ask("POST", "/sign-in/link", {"token": link.token}, **headers)
        assert answer.status_code == 403
    assert browser.post("/sign-in/link", {"token": link.token}).status_code == 200


@pytest.mark.parametrize("end", ["late", "token", "id", "nothing", "hostile"])
def test_a_link_that_is_late_or_wrong_signs_nobody_in(
    browser: Browser, make: Make, console_database: str, end: str
) -> None:
    email = new_address()
    link = make(email)
    session_id, _, token = link.token.partition(".")
    if end == "late":
        move(
            console_database,
            "update svc.console_magic_links set expires_at = expires_at - interval '10 min' where email = %s",
            email,
        )
    shown = {
        "token": f"{session_id}.{token[:-1]}x",
        "id": f"{session_id[:-1]}x.{token}",
        "nothing": "",
        "hostile": f'{session_id}.é"><script>',
    }.get(end, link.token)
    answer = browser.post("/sign-in/link", {"token": shown})
    assert answer.status_code in (404, 410)
    assert SESSION not in browser.cookies
    assert "<script>" not in answer.text.replace('<script type="module"', "")


def test_the_mailed_code_of_nobody_opens_a_link_and_its_token_verifies_nothing(magic: httpx.Client, make: Make) -> None:
    session_id, _, token = make(new_address()).token.partition(".")
    device = {"Authorization": f"Bearer {token}"}
    body = {"sessionId": session_id, "code": "ABCDEF"}
    assert_problem(magic.post("/console/session/verify", json=body, headers=device), 409, "already_verified")


@pytest.mark.parametrize("email", ["eve@evil.example", "no address", "", "ann@corp.example, eve@evil.example"])
def test_an_address_without_a_permission_gets_no_link(make: Make, console_database: str, email: str) -> None:
    with pytest.raises(ConfigError, match="may not sign in"):
        make(email)
    assert (
        rows(console_database, "select from svc.console_events where email = %s and event = 'link_made'", email) == []
    )


def test_the_device_of_a_link_is_known_afterwards(
    browser: Browser, make: Make, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    browser.post("/sign-in/link", {"token": make(email).token})
    browser.post("/sign-out")
    assert list(browser.cookies) == ["__Secure-svc_console_device"]
    browser.post("/sign-in", {"email": email})
    mailbox.code(email)
    assert rows(
        console_database, "select is_known_device from svc.console_magic_links where email = %s and status = 'pending'",
        email,
    ) == [(True,)]  # fmt: skip
