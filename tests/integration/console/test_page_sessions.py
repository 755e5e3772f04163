"""Sessions, tokens and events on pages: one's own for everybody, everything for administrators."""

import httpx
import pytest

from tests.integration.console.browsing import HOSTILE, Browser, assert_strict, shown_secret, sign_in_page
from tests.integration.console.signing_in import Mailbox, new_address, new_ip, rows

SESSION = "__Secure-svc_console"


def person(client: httpx.Client, mailbox: Mailbox, domain: str, **headers: str) -> tuple[Browser, str]:
    """Somebody who has signed in, and the address."""
    browser = Browser(client, **{"X-Forwarded-For": new_ip(), **headers})
    email = new_address(domain)
    sign_in_page(browser, mailbox, email)
    return browser, email


def again(client: httpx.Client, mailbox: Mailbox, email: str, database: str) -> Browser:
    """Another browser of the same person."""
    rows(database, "delete from svc.console_rate returning key")
    mailbox.messages.clear()
    other = Browser(client, **{"X-Forwarded-For": new_ip()})
    sign_in_page(other, mailbox, email)
    return other


def session_id(database: str, email: str) -> str:
    found = rows(database, "select id::text from svc.console_sessions where email = %s order by created_at desc", email)
    return str(found[0][0])


def test_everybody_sees_and_ends_own_sessions_alone(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    reader, email = person(magic, mailbox, "read.example")
    _, other = person(magic, mailbox, "read.example")
    second = again(magic, mailbox, email, console_database)
    page = reader.get("/sessions")
    assert_strict(page.text)
    assert (page.text.count(email), other in page.text) == (4, False)  # the bar, two rows, and the button of one
    assert "this session" in page.text
    refused = reader.post(f"/sessions/{session_id(console_database, other)}/revoke")
    assert refused.status_code == 404
    assert reader.get(f"/sessions/{session_id(console_database, other)}/revoke").status_code == 404
    reader.post(f"/sessions/{session_id(console_database, email)}/revoke")
    assert second.ask("GET", "/sessions", **{"Sec-Fetch-Site": "same-origin"}).status_code == 303
    ended = reader.get("/sessions?state=ended").text
    assert f"by <bdi>{email}</bdi>" in ended


def test_ending_this_session_leads_to_the_sign_in(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    reader, email = person(magic, mailbox, "read.example")
    page = reader.post(f"/sessions/{session_id(console_database, email)}/revoke")
    assert "Mail me a code" in page.text


def test_an_administrator_sees_and_ends_the_sessions_of_all(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    reader, email = person(magic, mailbox, "read.example", **{"User-Agent": HOSTILE[0]})
    admin, _ = person(magic, mailbox, "admin.example")
    page = admin.get("/sessions")
    assert f"Revoke the session of {email}" in page.text
    assert "&lt;script&gt;" in page.text
    assert_strict(page.text)
    assert email not in admin.get("/sessions?whose=own").text
    path = f"/sessions/{session_id(console_database, email)}/revoke"
    assert f'/ui{path}"' in page.text
    question = admin.get(path)
    assert_strict(question.text)
    for words in (f"End the session of <bdi>{email}</bdi>?", "This cannot be taken back", "<dt>From</dt>"):
        assert words in question.text
    assert reader.get("/sessions").status_code == 200  # the question ends nothing
    said = admin.post(path)
    assert f"The session of <bdi>{email}</bdi> has ended:</b> read, from " in said.text
    assert "an unknown program" in said.text
    assert "It has ended already, by" in admin.get(path).text
    assert reader.ask("GET", "/sessions", **{"Sec-Fetch-Site": "same-origin"}).status_code == 303


def test_a_token_is_shown_once_and_works_until_it_is_revoked(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    admin, _ = person(magic, mailbox, "admin.example")
    rows(console_database, "delete from svc.console_tokens returning id")  # of the other tests of this console
    assert "No token is live" in admin.get("/tokens").text
    made = admin.post("/tokens", {"name": "nightly", "permission": "read", "tenant": "", "days": "7"})
    assert made.status_code == 200
    assert made.headers["cache-control"] == "no-store"
    assert_strict(made.text)
    secret = shown_secret(made)
    bearer = {"Authorization": f"Bearer {secret}"}
    assert magic.get("/audit/tables", headers=bearer).status_code == 200
    listed = admin.get("/tokens")
    assert ("nightly" in listed.text, secret in listed.text) == (True, False)
    taken = admin.post("/tokens", {"name": "nightly", "permission": "read", "tenant": "", "days": "7"})
    assert (taken.status_code, "A live token has this name." in taken.text) == (409, True)
    [(token_id,)] = rows(console_database, "select id::text from svc.console_tokens where name = 'nightly'")
    question = admin.get(f"/tokens/{token_id}/revoke").text
    assert_strict(question)
    assert "Revoke the token <bdi>nightly</bdi>?" in question
    assert magic.get("/audit/tables", headers=bearer).status_code == 200  # the question ends nothing
    said = admin.post(f"/tokens/{token_id}/revoke").text
    assert "No token is live" in said
    assert "The token <bdi>nightly</bdi> has ended:</b> read, last used" in said
    assert "It has ended already, by" in admin.get(f"/tokens/{token_id}/revoke").text
    assert magic.get("/audit/tables", headers=bearer).status_code == 401
    assert "nightly" in admin.get("/tokens?state=ended").text
    lasts = rows(console_database, "select expires_at - created_at from svc.console_tokens where id = %s", token_id)
    assert lasts[0][0].days == 7


@pytest.mark.parametrize("fields", [{"name": "no name"}, {"name": "x", "permission": "root"}, {"name": HOSTILE[1]}])
def test_a_token_that_is_refused_keeps_what_was_typed(
    magic: httpx.Client, mailbox: Mailbox, fields: dict[str, str]
) -> None:
    admin, _ = person(magic, mailbox, "admin.example")
    page = admin.post("/tokens", fields)
    assert (page.status_code, 'role="alert"' in page.text) == (422, True)
    assert_strict(page.text)


def test_tokens_and_events_are_for_administrators(magic: httpx.Client, mailbox: Mailbox) -> None:
    writer, _ = person(magic, mailbox, "corp.example")
    for address in ("/tokens", "/tokens/new", "/activity"):
        page = writer.get(address)
        assert (page.status_code, "This needs the permission admin" in page.text) == (403, True)
        assert f'/ui{address}"' not in page.text
    assert writer.post("/tokens", {"name": "x", "permission": "admin"}).status_code == 403


def test_events_tell_who_did_what(magic: httpx.Client, mailbox: Mailbox) -> None:
    admin, email = person(magic, mailbox, "admin.example", **{"User-Agent": HOSTILE[1]})
    writer, refused = person(magic, mailbox, "corp.example")
    writer.get("/activity")
    page = admin.get("/activity?since=24h")
    assert_strict(page.text)
    for words in ("Signed in", "Asked for a code", "Was refused", email, refused):
        assert words in page.text
    only = admin.get(f"/activity?event=call_refused&email={refused}").text.partition("<tbody>")[2]
    assert (refused in only, "Signed in" in only) == (True, False)
    assert "No event matches" in admin.get("/activity?email=nobody").text
    assert admin.get("/activity?event=nonsense").status_code == 422
    assert "Was refused" in admin.get("/overview").text.partition("Activity in this console")[2]
    assert "Activity in this console" not in writer.get("/overview").text
