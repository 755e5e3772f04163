"""Tokens of programs: made by administrators, shown once, found by their hash, and ended."""

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings, shop
from tests.integration.console.signing_in import Mailbox, move, rows, serving_magic
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database


@pytest.fixture(scope="module")
def db(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def client(db: str) -> Iterator[httpx.Client]:
    given = settings(database_url=db, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, products=[shop()])) as client:
        client.headers.update(bearer("admin"))
        yield client


def add(client: httpx.Client, name: str, **body: Any) -> dict[str, Any]:
    answer = client.post("/account/tokens", json={"name": name, "permission": "read"} | body)
    assert answer.status_code == 201
    made: dict[str, Any] = answer.json()
    return made


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_shown_once_and_only_its_hash_is_stored(client: httpx.Client, db: str) -> None:
    made = add(client, "report", expiresIn=3600)
    assert made["token"].startswith("svcpg_")
    assert len(made["token"]) > 45
    [(stored,)] = rows(db, "select token_hash from svc.console_tokens where name = 'report'")
    assert stored == sha256(made["token"].encode()).digest()
    shown = client.get("/account/tokens").text
    assert "report" in shown
    assert made["token"] not in shown
    with psycopg.connect(db) as conn:
        everything = conn.execute(
            "select string_agg(a::text, ' ') from svc.audit_logs a union all"
            " select string_agg(e::text, ' ') from svc.console_events e"
        ).fetchall()
    assert made["token"] not in str(everything)
    assert stored.hex() not in str(everything)


def test_it_acts_under_its_name_with_its_permission_and_no_more(client: httpx.Client, db: str) -> None:
    reader, writer = add(client, "reader")["token"], add(client, "writer", permission="write")["token"]
    assert client.get("/account/session", headers=bearing(reader)).json()["email"] == "token:reader"
    assert client.get("/shop/orders", headers=bearing(reader)).status_code == 200
    assert_problem(client.post("/shop/orders", json={}, headers=bearing(reader)), 403, "insufficient_scope")
    assert client.post("/shop/orders", json={}, headers=bearing(writer)).status_code == 200
    assert_problem(client.get("/account/tokens", headers=bearing(writer)), 403, "insufficient_scope")
    body = {"url": "https://example.com/hook", "events": ["webhook.endpoint.disabled"]}
    assert client.post("/webhooks/endpoints", json=body, headers=bearing(writer)).status_code == 201
    assert rows(db, "select actor_id from svc.audit_logs where table_name = 'svc.webhook_endpoints'") == [
        ("token:writer",)
    ]


def test_a_token_of_one_tenant_sees_what_is_that_tenants(client: httpx.Client) -> None:
    token = add(client, "acme", permission="admin", tenant="acme")["token"]
    assert client.get("/account/session", headers=bearing(token)).json()["tenant"] == "acme"
    assert client.get("/webhooks/endpoints", headers=bearing(token)).json()["data"] == []
    for method, path in (("GET", "/account/tokens"), ("POST", "/account/tokens"), ("GET", "/account/sessions")):
        assert_problem(client.request(method, path, headers=bearing(token)), 403, "not_for_tenants")


def test_a_program_cannot_make_tokens_that_would_outlive_its_own(client: httpx.Client, db: str) -> None:
    token = add(client, "boss", permission="admin")["token"]
    body = {"name": "heir", "permission": "admin"}
    assert_problem(client.post("/account/tokens", json=body, headers=bearing(token)), 403, "people_only")
    assert rows(db, "select from svc.console_tokens where name = 'heir'") == []


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_token_that_has_ended_is_refused_at_once_and_its_name_is_free(
    client: httpx.Client, db: str, end: str
) -> None:
    made = add(client, f"one-{end}")
    assert client.get("/account/session", headers=bearing(made["token"])).status_code == 200
    if end == "expired":
        move(db, "update svc.console_tokens set expires_at = now() where id = %s", made["id"])
    assert client.delete(f"/account/tokens/{made['id']}").status_code == 204
    for token in (made["token"], made["token"] + "x", "svcpg_", "svcpg_" + "x" * 43, made["token"].upper()):
        assert_problem(client.get("/account/session", headers=bearing(token)), 401, "invalid_token")
    assert client.delete(f"/account/tokens/{made['id']}").status_code == 204
    assert add(client, f"one-{end}")["id"] != made["id"]
    ended = client.get("/account/tokens", params={"state": "ended"}).json()["data"]
    assert made["id"] in [each["id"] for each in ended]


def test_making_and_ending_are_events_and_entries_with_who_did_it(client: httpx.Client, db: str) -> None:
    made = add(client, "audited", permission="write", tenant="acme")
    client.delete(f"/account/tokens/{made['id']}")
    found = rows(db, "select event, email, detail from svc.console_events where detail like 'audited%%' order by id")
    assert found == [
        ("token_added", "ann@corp.example", "audited write of tenant acme"),
        ("token_revoked", "ann@corp.example", "audited"),
    ]
    entries = client.get("/audit/entries", params={"record": made["id"]}).json()["data"]
    assert [(each["operation"], each["actorId"]) for each in entries] == [
        ("UPDATE", "ann@corp.example"),
        ("INSERT", "ann@corp.example"),
    ]


def test_its_last_use_is_written_once_a_minute(client: httpx.Client, db: str) -> None:
    made = add(client, "used")
    text = "select used_at, xmin::text from svc.console_uses where id = %s"
    assert rows(db, text, made["id"]) == []
    client.get("/account/session", headers=bearing(made["token"]))
    first = rows(db, text, made["id"])
    client.get("/account/session", headers=bearing(made["token"]))
    assert rows(db, text, made["id"]) == first
    move(db, "update svc.console_uses set used_at = used_at - interval '61 s' where id = %s", made["id"])
    client.get("/account/session", headers=bearing(made["token"]))
    [(again, _)] = rows(db, text, made["id"])
    assert again >= first[0][0]
    [shown] = [each for each in client.get("/account/tokens").json()["data"] if each["name"] == "used"]
    assert shown["lastUsedAt"] is not None


def test_600_calls_a_minute_are_the_limit_of_a_token(client: httpx.Client, db: str) -> None:
    made = add(client, "busy")
    with psycopg.connect(db) as conn:
        conn.execute(
            "insert into svc.console_rate values (%s, 600, now() + interval '1 min')", [f"calls of {made['id']}"]
        )
    answer = client.get("/account/session", headers=bearing(made["token"]))
    assert_problem(answer, 429, "rate_limited")
    assert "retry-after" in answer.headers


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "permission": "read"},
        {"name": "a b", "permission": "read"},
        {"name": "-a", "permission": "read"},
        {"name": "a" * 64, "permission": "read"},
        {"name": "a\n", "permission": "read"},
        {"name": "ann@corp.example", "permission": "read"},
        {"name": "a", "permission": "root"},
        {"name": "a", "permission": "read", "tenant": ""},
        {"name": "a", "permission": "read", "tenant": "\0"},
        {"name": "a", "permission": "read", "expiresIn": 0},
        {"name": "a", "permission": "read", "expiresIn": 3651 * 86400},
        {"name": "a"},
        {},
    ],
)
def test_a_token_that_cannot_be_is_422(client: httpx.Client, body: dict[str, Any]) -> None:
    assert_problem(client.post("/account/tokens", json=body), 422, "invalid_body")


@pytest.mark.parametrize("name", ["", "-a", "a b", "a\n", "\u00e9", "a/b"])
def test_the_name_of_a_token_is_refused_in_words(client: httpx.Client, name: str) -> None:
    refused = client.post("/account/tokens", json={"name": name, "permission": "read"})
    assert_problem(refused, 422, "invalid_body")
    [error] = refused.json()["errors"]
    assert error["detail"] == "write letters, digits, dots, hyphens and underscores, the first a letter or a digit"


def test_a_name_is_taken_once_also_by_two_at_the_same_time(client: httpx.Client, db: str) -> None:
    add(client, "taken")
    assert_problem(client.post("/account/tokens", json={"name": "taken", "permission": "read"}), 409, "token_exists")
    assert rows(db, "select count(*) from svc.console_tokens where name = 'taken'") == [(1,)]
    assert rows(db, "select count(*) from svc.console_events where detail = 'taken read'") == [(1,)]
    for token_id in ("00000000-0000-4000-8000-000000000000", "taken", "%00"):
        assert_problem(client.delete(f"/account/tokens/{token_id}"), 404, "unknown_token")


def test_a_token_works_in_production_and_ends_with_no_configuration_of_addresses(
    console_database: str, mailbox: Mailbox
) -> None:
    with psycopg.connect(console_database) as conn:
        token = api_tokens.add(conn, "nightly", permission="read", lifetime=timedelta(days=1)).token
    with serving_magic(console_database, mailbox, console_allowed_emails={"ann@corp.example": "admin"}) as client:
        assert client.get("/account/session", headers=bearing(token)).json()["permissions"] == ["read"]
        assert_problem(client.delete("/account/session", headers=bearing(token)), 409, "session_not_stored")


def test_a_cookie_with_a_token_opens_no_page(client: httpx.Client) -> None:
    token = add(client, "page", permission="admin")["token"]
    for name in ("svc_console", "__Secure-svc_console"):
        answer = client.get("/ui/sessions", headers={"Cookie": f"{name}={token}", "Authorization": ""})
        assert answer.status_code == 303
    assert client.get("/ui/sessions", headers=bearing(token)).status_code == 303
