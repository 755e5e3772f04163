"""An attacker who asks for codes stops nobody else from signing in, and floods no mailbox."""

from datetime import UTC, datetime, timedelta

import httpx
import jwt
import pytest

from svc_pg.console.sign_in import devices
from tests.integration.console.serving import KEY, PREFIX, assert_problem
from tests.integration.console.signing_in import (
    Device,
    Mailbox,
    move,
    new_address,
    new_ip,
    rows,
    serving_magic,
    sign_in,
    wrong,
)
from tests.support.waiting import wait_until

ENDED = "update svc.console_rate set ends_at = now() where key like %s"


def known_device(client: httpx.Client, mailbox: Mailbox, email: str) -> str:
    """The token that a device keeps after it signed in."""
    device = Device(client, email)
    assert device.verify(mailbox.code(email)).status_code == 200
    return str(device.claim().json()["knownDevice"])


def begin(client: httpx.Client, email: str, *, ip: str, known: object) -> Device:
    """A sign-in that shows what the device has."""
    device = Device(client, "no address", ip=ip)
    body = {"email": email, "knownDevice": known}
    device.begun = client.post("/console/session/init", json=body, headers=device.headers)
    device.session_id = device.begun.json().get("sessionId", "")
    device.bearer = {"Authorization": f"Bearer {device.begun.json().get('deviceToken', '')}"}
    return device


def is_mailed(database: str, device: Device) -> bool:
    [(detail,)] = rows(
        database,
        "select detail from svc.console_events where event = 'link_requested' and session_id = %s",
        device.session_id,
    )
    return detail is None


def flood(client: httpx.Client, database: str, email: str, *, networks: int, ip: str | None = None) -> None:
    """Ask as often as it is possible from so many networks, and without the wait between."""
    for number in range(networks):
        source = ip if ip and number == 0 else new_ip()
        for _ in range(12):
            Device(client, email, ip=source)
            move(database, ENDED, "init once for %")


def test_an_attacker_in_one_network_stops_nobody_in_another(magic: httpx.Client, console_database: str) -> None:
    email = new_address()
    flood(magic, console_database, email, networks=3)
    device = Device(magic, email)
    assert is_mailed(console_database, device)
    assert (
        len(rows(console_database, "select from svc.console_events where email = %s and detail is null", email)) == 10
    )


def test_a_device_that_has_signed_in_gets_its_code_whatever_attackers_do_and_wherever_they_are(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email, office = new_address(), new_ip()
    known = known_device(magic, mailbox, email)
    flood(magic, console_database, email, networks=6, ip=office)
    stranger = Device(magic, email)
    assert not is_mailed(console_database, stranger)  # the mails of this address to strangers are used up
    for _ in range(12):
        refused = Device(magic, new_address(), ip=office).begun
    assert_problem(refused, 429, "rate_limited")
    before = len(mailbox.to(email))
    device = begin(magic, email, ip=office, known=known)
    assert device.begun.status_code == 200
    assert is_mailed(console_database, device)
    code = mailbox.code(email) if len(mailbox.to(email)) > before else newest(mailbox, email, before)
    for _ in range(30):  # so that no code of the network is tried any more
        Device(magic, new_address()).verify(wrong(code), **{"X-Forwarded-For": office})
    assert device.verify(code).status_code == 200
    assert device.claim().status_code == 200


def newest(mailbox: Mailbox, email: str, before: int) -> str:
    wait_until(lambda: len(mailbox.to(email)) > before, "the mail is there")
    return mailbox.code(email)


def test_the_mails_to_an_address_are_bounded_from_strangers_and_from_its_own_devices(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    known = known_device(magic, mailbox, email)
    move(console_database, ENDED, f"init%{email}%")
    flood(magic, console_database, email, networks=10)
    for _ in range(12):
        begin(magic, email, ip=new_ip(), known=known)
        move(console_database, ENDED, "init once of %")
    mailed = "select count(*) from svc.console_events where email = %s and event = 'link_requested' and detail is null"
    assert rows(console_database, mailed, email) == [(1 + 12 + 5,)]
    assert_problem(begin(magic, email, ip=new_ip(), known=known).begun, 429, "rate_limited")


@pytest.mark.parametrize("kind", ["another address", "expired", "session", "forged", "no text", "long", "empty"])
def test_what_does_not_prove_a_device_counts_as_nothing(
    magic: httpx.Client, mailbox: Mailbox, console_database: str, kind: str
) -> None:
    email, now = new_address(), datetime.now(UTC)
    session = sign_in(magic, mailbox, new_address())["Authorization"].removeprefix("Bearer ")
    shown: object = {
        "another address": devices.device_token(KEY, new_address(), now=now),
        "expired": devices.device_token(KEY, email, now=now - devices.KNOWN_FOR - timedelta(minutes=1)),
        "session": session,
        "forged": jwt.encode({"sub": email, "exp": now + timedelta(days=1), "jti": "x"}, KEY, algorithm="HS256"),
        "no text": 7,
        "long": "x" * 3000,
        "empty": "",
    }[kind]
    for _ in range(3):
        Device(magic, email, ip="203.0.113.77")
        move(console_database, ENDED, "init once for %")
    device = begin(magic, email, ip="203.0.113.77", known=shown)
    assert device.begun.status_code == 200
    assert not is_mailed(console_database, device)


def test_a_known_device_opens_nothing_by_itself(magic: httpx.Client, mailbox: Mailbox) -> None:
    known = known_device(magic, mailbox, new_address())
    assert_problem(magic.get("/account/session", headers={"Authorization": f"Bearer {known}"}), 401, "invalid_token")
    gone = new_address("none.example")
    device = begin(magic, gone, ip=new_ip(), known=devices.device_token(KEY, gone, now=datetime.now(UTC)))
    assert device.begun.status_code == 200
    assert mailbox.to(gone) == []


# Keys and idle sessions, which a console is configured with

OTHER_KEY = "b0bb1e" * 8


def test_while_a_key_is_rotated_the_sessions_codes_and_devices_of_the_one_before_go_on(
    console_database: str, magic: httpx.Client, mailbox: Mailbox
) -> None:
    email = new_address()
    bearer, known = sign_in(magic, mailbox, email), known_device(magic, mailbox, new_address())
    pending = Device(magic, new_address())
    code = mailbox.code(pending.email)
    rotated = {
        "console_connection_token_hash": f"sha256:{OTHER_KEY}",
        "console_previous_connection_token_hash": f"sha256:{KEY.decode()}",
    }
    with serving_magic(console_database, mailbox, **rotated) as client:
        assert client.get("/account/session", headers=bearer).status_code == 200
        pending.client = client
        assert pending.verify(code).status_code == 200
        claimed = pending.claim().json()["sessionToken"]
        assert jwt.get_unverified_header(claimed)["kid"] != jwt.get_unverified_header(token_of(bearer))["kid"]
        assert_problem(
            magic.get("/account/session", headers={"Authorization": f"Bearer {claimed}"}), 401, "invalid_token"
        )
    with serving_magic(console_database, mailbox, console_connection_token_hash=f"sha256:{OTHER_KEY}") as client:
        assert_problem(client.get("/account/session", headers=bearer), 401, "invalid_token")
        assert client.get("/account/session", headers={"Authorization": f"Bearer {claimed}"}).status_code == 200
    assert devices.known_device([OTHER_KEY.encode()], email, known) is None


def token_of(bearer: dict[str, str]) -> str:
    return bearer["Authorization"].removeprefix("Bearer ")


def test_a_session_that_is_not_used_ends_and_a_use_keeps_it(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    bearers = [sign_in(magic, mailbox, new_address("admin.example")) for _ in range(2)]
    used, idle = (magic.get("/account/session", headers=bearer).json()["sessionId"] for bearer in bearers)
    later = "update svc.console_uses set used_at = used_at - interval '7 h 59 min' where id = any (%s::uuid[])"
    move(console_database, later, [used, idle])
    assert magic.get("/account/session", headers=bearers[0]).status_code == 200
    move(console_database, "update svc.console_uses set used_at = used_at - interval '2 min' where id = %s", idle)
    assert_problem(magic.get("/account/session", headers=bearers[1]), 401, "invalid_token")
    live = magic.get("/account/sessions", params={"state": "live", "limit": 1000}, headers=bearers[0]).json()["data"]
    ended = magic.get("/account/sessions", params={"state": "ended", "limit": 1000}, headers=bearers[0]).json()["data"]
    assert used in [each["sessionId"] for each in live]
    assert idle in [each["sessionId"] for each in ended]
    [shown] = [each for each in ended if each["sessionId"] == idle]
    assert datetime.fromisoformat(shown["expiresAt"]) < datetime.now(UTC)


# One's own sessions, and the events


def test_everybody_lists_and_ends_their_own_sessions_and_nobody_elses(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address("read.example")
    mine = sign_in(magic, mailbox, email)
    move(console_database, ENDED, "init%")
    phone = sign_in(magic, mailbox, email)
    theirs = sign_in(magic, mailbox, new_address("read.example"))
    ids = [magic.get("/account/session", headers=each).json()["sessionId"] for each in (mine, phone, theirs)]
    own = magic.get("/account/own-sessions", headers=mine).json()["data"]
    assert [each["sessionId"] for each in own] == [ids[1], ids[0]]
    for session_id in (ids[2], "00000000-0000-4000-8000-000000000000", "x"):
        assert_problem(magic.delete(f"/account/own-sessions/{session_id}", headers=mine), 404, "unknown_session")
    assert magic.get("/account/session", headers=theirs).status_code == 200
    assert magic.delete(f"/account/own-sessions/{ids[1]}", headers=mine).status_code == 204
    assert_problem(magic.get("/account/session", headers=phone), 401, "invalid_token")
    assert [
        each["sessionId"] for each in magic.get("/account/own-sessions?state=live", headers=mine).json()["data"]
    ] == [ids[0]]


def test_administrators_read_the_events(magic: httpx.Client, mailbox: Mailbox) -> None:
    sign_in(magic, mailbox, new_address("read.example"))
    email = new_address("admin.example")
    admin = sign_in(magic, mailbox, email)
    events = magic.get("/account/events", params={"email": email}, headers=admin).json()["data"]
    assert [each["event"] for each in events] == ["signed_in", "code_accepted", "link_requested"]
    assert events[0]["sessionId"] == magic.get("/account/session", headers=admin).json()["sessionId"]
    asked = {"event": "signed_in", "since": "1h", "limit": "1"}
    first = magic.get("/account/events", params=asked, headers=admin).json()
    assert first["data"] == events[:1]
    second = magic.get("/account/events", params={**asked, "cursor": first["nextCursor"]}, headers=admin).json()
    assert int(second["data"][0]["id"]) < int(first["data"][0]["id"])
    assert magic.get("/account/events", params={"until": "1h"}, headers=admin).json()["data"] == []
    assert_problem(magic.get("/account/events?event=party", headers=admin), 422, "invalid_parameter")
    assert PREFIX not in str(events)
