"""Nobody learns whether an address may sign in, a code from a dump, or a token from a log."""

import hmac
import json
import logging
import re
from hashlib import sha256
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from svc_pg.console.sign_in import codes
from svc_pg.database.query import scalar
from tests.integration.console.serving import KEY, PREFIX, assert_problem, raw_request
from tests.integration.console.signing_in import (
    ANY_CODE,
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

# Who may sign in


def shape(answer: httpx.Response) -> tuple[object, ...]:
    """All that an answer tells, but for ids, tokens and times."""
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
    headers["ratelimit"] = re.sub(r";t=\d+", ";t=", headers.get("ratelimit", ""))
    document = answer.json()
    values = {name: value for name, value in document.items() if name not in ("sessionId", "deviceToken", "requestId")}
    lengths = {name: len(document.get(name, "")) for name in ("sessionId", "deviceToken", "requestId")}
    return answer.status_code, headers, list(document), values, lengths


def test_an_address_that_is_not_allowed_looks_the_same_from_init_to_lock(magic: httpx.Client, mailbox: Mailbox) -> None:
    allowed, unknown = new_address("corp.example"), new_address("none.example")
    mailed, decoy = Device(magic, allowed), Device(magic, unknown)
    assert shape(mailed.begun) == shape(decoy.begun)
    assert shape(mailed.poll()) == shape(decoy.poll())
    assert shape(mailed.poll()) == shape(decoy.poll())
    assert shape(mailed.claim()) == shape(decoy.claim())
    code = wrong(mailbox.code(allowed))
    for _ in range(7):
        assert shape(mailed.verify(code)) == shape(decoy.verify(code))
    assert shape(mailed.claim()) == shape(decoy.claim())
    assert mailbox.to(unknown) == []


def test_a_decoy_is_stored_with_a_hash_that_is_not_that_of_its_code(
    magic: httpx.Client, console_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is random: no code of the whole space has it, but with a chance of 2^-226."""
    monkeypatch.setattr(codes, "new_code", lambda: "ABCDEF")
    key, statement = codes.hashing_key(KEY), "select code_hash from svc.console_magic_links where session_id = %s"
    for domain, is_decoy in (("none.example", True), ("corp.example", False)):
        device = Device(magic, new_address(domain))
        [(stored,)] = rows(console_database, statement, device.session_id)
        is_its_own = stored == codes.code_hash(key, UUID(device.session_id), "ABCDEF")
        assert is_its_own is not is_decoy


# what is random, the time, or the address and why it got no mail
DIFFERENT = {"id", "session_id", "device_hash", "code_hash", "email", "ip", "detail"} | {
    "created_at",
    "expires_at",
    "occurred_at",
}


def test_both_kinds_of_address_leave_the_same_rows_but_for_the_reason(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    allowed, unknown = new_address("corp.example"), new_address("none.example")
    for email in (allowed, unknown):
        Device(magic, email)
    mailbox.code(allowed)
    for table in ("svc.console_magic_links", "svc.console_events"):
        with psycopg.connect(console_database) as conn:
            text = psycopg.sql.SQL("select to_jsonb(t) from {} t where email = any(%s)").format(
                psycopg.sql.Identifier(*table.split("."))
            )
            found = [row for (row,) in conn.execute(text, ([allowed, unknown],))]
        first, second = ({name: row[name] for name in row.keys() - DIFFERENT} for row in found)
        assert first == second
        assert first
    reasons = rows(
        console_database,
        "select email, detail from svc.console_events where email = any(%s) order by detail nulls first",
        [allowed, unknown],
    )
    assert reasons == [(allowed, None), (unknown, "not allowed")]


def test_ten_inits_for_one_address_answer_alike_and_send_one_mail(magic: httpx.Client, mailbox: Mailbox) -> None:
    email, ip = new_address(), new_ip()
    devices = [Device(magic, email, ip=ip) for _ in range(10)]
    shapes = [str(shape(device.begun)) for device in devices]
    left = [re.findall(r'"sign-ins";r=(\d+)', each) for each in shapes]
    assert left == [[str(number)] for number in range(9, -1, -1)], "of the network, whichever the address"
    assert len({re.sub(r"r=\d+", "r=", each) for each in shapes}) == 1
    assert devices[0].verify(mailbox.code(email)).status_code == 200
    assert len(mailbox.to(email)) == 1
    assert_problem(devices[1].verify(mailbox.code(email)), 400, "invalid_code")


def test_a_network_can_have_an_address_mailed_every_thirty_seconds_and_three_times_in_fifteen_minutes(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email, ip = new_address(), new_ip()
    sent = []
    for _ in range(5):
        device = Device(magic, email, ip=ip)
        detail = rows(
            console_database,
            "select detail from svc.console_events where session_id = %s",
            device.session_id,
        )
        sent.append(detail == [(None,)])
        move(
            console_database,
            "update svc.console_rate set ends_at = now() where key = %s",
            f"init once for {email} from {ip}",
        )
    assert sent == [True] * 3 + [False] * 2
    ended = "update svc.console_rate set ends_at = now() where key = %s"
    move(console_database, ended, f"init for {email} from {ip}")
    Device(magic, email, ip=ip)
    mailbox.code(email)
    assert len(rows(console_database, "select from svc.console_events where email = %s and detail is null", email)) == 4


def test_a_hundred_mails_an_hour_is_a_limit_that_nobody_sees(magic: httpx.Client, console_database: str) -> None:
    Device(magic, new_address())
    move(console_database, "update svc.console_rate set hits = 100 where key = 'mails by pattern'")
    late = Device(magic, new_address())
    assert late.begun.status_code == 200
    assert rows(console_database, "select detail from svc.console_events where session_id = %s", late.session_id) == [
        ("limit of all mails",)
    ]


# Who asks


def test_the_eleventh_init_of_an_ip_is_429_whatever_it_says_about_itself(
    console_database: str, mailbox: Mailbox
) -> None:
    with serving_magic(console_database, mailbox, console_trusted_proxies=[]) as client:
        for _ in range(10):
            assert Device(client, new_address()).begun.status_code == 200
        for headers in (
            {"X-Forwarded-For": new_ip()},
            {"X-Forwarded-For": f"{new_ip()}, {new_ip()}"},
            {"Forwarded": f"for={new_ip()}", "X-Real-IP": new_ip()},
        ):
            answer = client.post("/console/session/init", json={"email": new_address()}, headers=headers)
            assert_problem(answer, 429, "rate_limited")
            assert 0 < int(answer.headers["retry-after"]) <= 900


def test_behind_a_trusted_proxy_the_last_untrusted_address_counts(magic: httpx.Client) -> None:
    ip = new_ip()
    for number in range(10):
        assert Device(magic, new_address(), ip=f"203.0.113.{number}, {ip}").begun.status_code == 200
    assert_problem(Device(magic, new_address(), ip=f"203.0.113.99, {ip}").begun, 429, "rate_limited")
    assert Device(magic, new_address(), ip=f"{ip}, {new_ip()}").begun.status_code == 200


def test_a_network_of_ipv6_counts_as_one(magic: httpx.Client) -> None:
    for number in range(10):
        assert Device(magic, new_address(), ip=f"2001:db8:7:7::{number:x}").begun.status_code == 200
    assert_problem(Device(magic, new_address(), ip="2001:db8:7:7:ffff::1").begun, 429, "rate_limited")
    assert Device(magic, new_address(), ip="2001:db8:7:8::1").begun.status_code == 200


def test_only_well_formed_requests_count(magic: httpx.Client) -> None:
    ip = new_ip()
    for _ in range(12):
        assert Device(magic, "no address", ip=ip).begun.status_code == 422
    assert Device(magic, new_address(), ip=ip).begun.status_code == 200


def test_thirty_codes_in_five_minutes_are_the_limit_of_an_ip_and_unknown_sessions_do_not_count(
    magic: httpx.Client,
) -> None:
    ip = new_ip()
    devices = [Device(magic, new_address()) for _ in range(7)]
    stranger = Device(magic, new_address())
    stranger.session_id = devices[0].session_id
    forwarded = {"X-Forwarded-For": ip}
    for _ in range(40):
        assert stranger.verify(ANY_CODE, **forwarded).status_code == 404
    answers = [device.verify(ANY_CODE, **forwarded).status_code for device in devices[:6] for _ in range(5)]
    assert answers == [400] * 30
    assert_problem(devices[6].verify(ANY_CODE, **forwarded), 429, "rate_limited")
    assert devices[6].verify(ANY_CODE).json()["attemptsRemaining"] == 4


def test_a_session_calls_six_hundred_times_a_minute(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    bearer = sign_in(magic, mailbox, new_address())
    session_id = magic.get("/account/session", headers=bearer).json()["sessionId"]
    move(console_database, "update svc.console_rate set hits = 599 where key = %s", f"calls of {session_id}")
    assert magic.get("/account/session", headers=bearer).status_code == 200
    answer = magic.get("/account/session", headers=bearer)
    assert_problem(answer, 429, "rate_limited")
    assert 0 < int(answer.headers["retry-after"]) <= 60
    move(console_database, "update svc.console_rate set ends_at = now() where key = %s", f"calls of {session_id}")
    assert magic.get("/account/session", headers=bearer).status_code == 200


# One address, and nothing else


@pytest.mark.parametrize(
    "email",
    [
        "mallory@evil.example, ann@corp.example",
        "mallory@evil.example,ann@corp.example",
        "ann@corp.example;mallory@evil.example",
        "ann@corp.example\r\nBcc: mallory@evil.example",
        "ann@corp.example\nBcc: mallory@evil.example",
        "ann@corp.example\r",
        "ann@corp.example\x00",
        "Ann <ann@corp.example>",
        "<ann@corp.example>",
        '"mallory@evil.example,"@corp.example',
        "mallory@evil.example@corp.example",
        "ann@corp.example (mallory@evil.example)",
        "ann@\u0441\u043erp.example",
        "ann@corp\u3002example",
        "ann@\u217dorp.example",
        "ånn@corp.example",
        "ann@[127.0.0.1]",
        "*@corp.example",
        ["ann@corp.example"],
        {"address": "ann@corp.example"},
    ],
)
def test_what_is_not_exactly_one_plain_address_is_422_and_nothing_is_mailed(
    magic: httpx.Client, mailbox: Mailbox, email: object
) -> None:
    before = len(mailbox.messages)
    assert_problem(magic.post("/console/session/init", json={"email": email}), 422, "invalid_email")
    assert len(mailbox.messages) == before


@pytest.mark.parametrize(
    "email",
    [
        "ann@corp.example.evil.example",
        "ann@evilcorp.example",
        "ann@sub.corp.example",
        "ann@xn--crp-xzc.example",
    ],
)
def test_a_domain_that_only_looks_like_an_allowed_one_gets_no_mail(
    magic: httpx.Client, mailbox: Mailbox, console_database: str, email: str
) -> None:
    device = Device(magic, email)
    assert device.begun.status_code == 200
    assert rows(console_database, "select detail from svc.console_events where session_id = %s", device.session_id) == [
        ("not allowed",)
    ]
    assert mailbox.to(email) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'"ann@corp.example"', b'{"email": null}'])
def test_an_init_without_an_address_is_422(magic: httpx.Client, content: bytes) -> None:
    answer = magic.post("/console/session/init", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


# What the mail says


def test_the_mail_says_who_asked_and_warns_and_nothing_in_it_came_with_the_request(
    console_database: str, mailbox: Mailbox
) -> None:
    email = new_address()
    with serving_magic(console_database, mailbox, console_public_url="https://console.corp.example/sign-in") as client:
        client.post(
            "/console/session/init",
            json={"email": email},
            headers={
                "Host": "evil.example",
                "X-Forwarded-Host": "evil.example",
                "X-Forwarded-For": "203.0.113.77",
                "Origin": "https://evil.example",
                "Referer": "https://evil.example/",
                "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0 visit https://evil.example now",
            },
        )
        mailbox.code(email)
    [message] = mailbox.to(email)
    text = message.as_string()
    assert "evil.example" not in text
    assert "https://console.corp.example/sign-in" in text
    assert re.findall(r"https?://\S+", text) == ["https://console.corp.example/sign-in"]
    assert "203.0.113.77" in text
    assert "Firefox on Linux" in text
    assert re.search(r"time     \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", text)
    assert "If that was not you" in text
    assert (message["To"], message["From"]) == (email, "console@corp.example")


def test_without_a_public_url_the_mail_has_no_link(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address()
    Device(magic, email)
    mailbox.code(email)
    assert "http" not in mailbox.to(email)[0].get_content()


# What the database and the logs keep


def test_a_dump_of_the_tables_does_not_tell_a_code(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    """Whoever reads the tables has everything but the key.

    A search tries each code of the space in a construction without a key. The right code is among the codes tried here,
    so a search of the whole space would find no more: of these constructions none has the stored hash.
    """
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    with psycopg.connect(console_database) as conn:
        dump = scalar(conn, "select to_jsonb(l)::text from svc.console_magic_links l where email = %s", (email,))
        stored = bytes.fromhex(json.loads(dump)["code_hash"].removeprefix("\\x"))
    session_id = device.session_id
    assert code not in dump
    for tried in (code, wrong(code)):
        for salt in ("", f"{session_id}\0", f"{session_id}|0|", session_id, email):
            for text in (salt + tried, tried + salt):
                assert sha256(text.encode()).digest() != stored
                for key in (b"", session_id.encode(), UUID(session_id).bytes, email.encode()):
                    assert hmac.digest(key, text.encode(), "sha256") != stored
    with_key = codes.code_hash(codes.hashing_key(KEY), UUID(session_id), code)
    other_key = codes.code_hash(codes.hashing_key(KEY[::-1]), UUID(session_id), code)
    assert with_key == stored != other_key


def test_a_dump_holds_neither_device_nor_session_tokens(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    device.verify(code)
    token = device.claim().json()["sessionToken"]
    device_token = device.bearer["Authorization"].removeprefix("Bearer ")
    with psycopg.connect(console_database) as conn:
        dump = scalar(
            conn,
            """select (select json_agg(t) from svc.console_magic_links t)::text
                   || (select json_agg(t) from svc.console_sessions t)::text
                   || (select json_agg(t) from svc.console_events t)::text
                   || (select json_agg(t) from svc.console_rate t)::text
                   || (select json_agg(t) from svc.audit_logs t)::text""",
        )
    assert email in dump
    for secret in (code, codes.displayed(code), device_token, token, *token.split(".")):
        assert secret not in dump


def test_logs_and_problems_are_free_of_codes_tokens_and_hashes(
    magic: httpx.Client, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    email = new_address()
    seen: list[str] = []

    def keep(answer: httpx.Response) -> httpx.Response:
        if answer.status_code >= 400:
            seen.append(answer.text + str(answer.headers))
        return answer

    with caplog.at_level(logging.DEBUG):
        device = Device(magic, email)
        code = mailbox.code(email)
        keep(device.verify(wrong(code)))
        keep(device.verify(code[:5]))
        keep(device.claim())
        device.poll()
        keep(device.poll())
        device.verify(code)
        token = device.claim().json()["sessionToken"]
        bearer = {"Authorization": f"Bearer {token}"}
        keep(device.verify(code))
        keep(magic.get("/account/session", headers={"Authorization": f"Bearer {token}x"}))
        keep(magic.get("/account/session", headers={"Authorization": f"Bearer {token[:-4]}AAAA"}))
        keep(magic.get("/shop/broken", headers=bearer))
        magic.delete("/account/session", headers=bearer)
        keep(magic.get("/account/session", headers=bearer))
        keep(device.claim())
    assert len(seen) == 10
    device_token = device.bearer["Authorization"].removeprefix("Bearer ")
    hashes: list[str] = [
        sha256(token.encode()).hexdigest(),
        sha256(device_token.encode()).hexdigest(),
        codes.code_hash(codes.hashing_key(KEY), UUID(device.session_id), code).hex(),
        KEY.decode(),
    ]
    written = caplog.text + "".join(seen) + "".join(str(vars(record)) for record in our(caplog))
    assert "svc_pg.console" in {record.name for record in caplog.records}
    for secret in (code, codes.displayed(code), device_token, *token.split("."), *hashes):
        assert secret not in written


def our(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in caplog.records if record.name.startswith("svc_pg")]


def test_a_host_of_another_name_changes_nothing(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address()
    base_url = str(magic.base_url).partition(PREFIX)[0]
    status, headers, body = raw_request(base_url, "GET", f"{PREFIX}/console/health", Host="evil.example")
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert "evil.example" not in str(headers)
    assert Device(magic, email, Host="evil.example").begun.status_code == 200
    mailbox.code(email)
    assert "evil.example" not in mailbox.to(email)[0].as_string()
