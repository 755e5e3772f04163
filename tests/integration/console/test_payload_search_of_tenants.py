"""A session of one tenant finds its own messages by their payloads, and learns nothing of another tenant's."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final
from urllib.parse import quote

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, webhooks
from svc_pg.console import Console
from svc_pg.console.database import pool as database
from svc_pg.console.sign_in import api_tokens
from svc_pg.database.by_indexes import by_indexes
from svc_pg.webhooks.deliveries import delivery_queries
from tests.integration.console.browsing import HOSTILE, assert_strict, signed_in
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.plans import page_query
from tests.support.postgres import new_database

CONFIG: Final[Config] = hooks_config("order.created")
CONFIG.webhooks.event("order.paid", search=["number", "secret.code"])
OWN: Final = "number=1045"
OTHERS: Final = "number=7777"
NOBODYS: Final = "number=8888"


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        for tenant in ("acme", "other", None):
            endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook", tenant=tenant)
        with psycopg.connect(conninfo) as conn:
            webhooks.send(conn, "order.paid", {"number": 1045}, tenant="acme")
            webhooks.send(conn, "order.paid", {"number": 7777}, tenant="other")
            webhooks.send(conn, "order.paid", {"number": HOSTILE[0]}, tenant="other")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        yield client


@pytest.fixture(scope="module")
def of_acme(installed: str) -> dict[str, str]:
    """The header of a token of the tenant."""
    with psycopg.connect(installed) as conn:
        return {"Authorization": f"Bearer {api_tokens.add(conn, 'acme', permission='write', tenant='acme').token}"}


def asked(client: httpx.Client, headers: dict[str, str], path: str, **query: str) -> tuple[int, Any]:
    answer = client.get(f"/webhooks/{path}", params=query, headers=headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("path", ["messages", "deliveries", "deliveries/counts"])
@pytest.mark.parametrize("others", [{}, {"tenant": "other"}, {"status": "pending"}, {"event": "order.paid"}])
def test_the_value_of_another_tenant_is_answered_as_one_that_nobody_has(
    client: httpx.Client, of_acme: dict[str, str], path: str, others: dict[str, str]
) -> None:
    if "status" in others and path != "deliveries":
        return
    of_another, of_nobody = (asked(client, of_acme, path, payload=each, **others) for each in (OTHERS, NOBODYS))
    assert of_another == of_nobody
    assert of_another[0] == 200
    if path != "deliveries/counts":
        assert of_another[1]["data"] == []
        found = asked(client, of_acme, path, payload=OWN, **others)[1]["data"]
        assert len(found) == ("tenant" not in others)


def test_a_bulk_change_reaches_none_of_another_tenant(client: httpx.Client, of_acme: dict[str, str]) -> None:
    counts = [
        client.post(
            "/webhooks/deliveries/cancel",
            json={"payload": payload, "dryRun": True},
            headers=of_acme,
        ).json()["count"]
        for payload in (OWN, OTHERS, NOBODYS)
    ]
    assert counts == [1, 0, 0]


def test_the_rows_that_are_read_for_a_tenant_are_those_of_its_own(installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute(
            "insert into svc.webhook_search_values (message_id, digest, tenant)"
            " select svc.webhook_uuid7(), svc.webhook_search_digest('number', '7777'), 'other'"
            " from generate_series(1, 5000)"
        )
        conn.execute("analyze svc.webhook_search_values")
        for number in ("7777", "8888"):
            query = page_query(delivery_queries.query().to_endpoints_of("acme").payload(f"number={number}"))
            with by_indexes(conn):
                text = "explain (analyze, buffers, format json) " + query.text
                [(plan,)] = conn.execute(text, query.params).fetchall()
            assert "webhook_search_values_tenant" in json.dumps(plan)
            assert plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] < 20
        conn.rollback()


@pytest.mark.parametrize("path", ["messages", "deliveries"])
@pytest.mark.parametrize(
    "payload",
    [
        "nr=1",
        "number",
        "number=",
        "$.number=1",
        "number=" + "x" * 1025,
        "x'=1",
        "=",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_what_cannot_be_asked_is_a_problem(
    client: httpx.Client, of_acme: dict[str, str], path: str, payload: str
) -> None:
    status, problem = asked(client, of_acme, path, payload=payload)
    assert status == 422, problem
    assert problem["code"] in ("invalid_value", "invalid_parameter")


@pytest.mark.parametrize("path", ["messages", "deliveries"])
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("event:order.created payload:number=1045", "the event order.created is not searched by the key number"),
        ("payload:number=1045 event:order.piad", "there is no event order.piad"),
        ("payload:nr=1045", "no event is searched by the key nr"),
        ("payload:1045", "is no key with a value"),
    ],
)
def test_the_bar_and_http_say_what_is_not_searched(client: httpx.Client, path: str, question: str, said: str) -> None:
    browser = signed_in(client, "read")
    page = browser.get(f"/{path}?q={quote(question)}")
    assert page.status_code == 422
    assert said in unescape(page.text)
    assert_strict(page.text)
    query = dict(each.split(":", 1) for each in question.split())
    status, problem = asked(client, bearer("read"), path, **query)
    assert (status, said in problem["detail"]) == (422, True), problem


@pytest.mark.parametrize("path", ["messages", "deliveries"])
def test_a_cursor_may_stand_before_the_value(client: httpx.Client, path: str) -> None:
    headers = bearer("read")
    cursor = client.get(f"/webhooks/{path}?limit=1", headers=headers).json()["nextCursor"]
    foreign = client.get(f"/webhooks/{path}?cursor={cursor}&payload=number%3D1045", headers=headers)
    assert foreign.status_code in (200, 422)
    found = client.get(f"/webhooks/{path}?limit=1&payload=number%3D1045", headers=headers).json()
    if path == "deliveries":
        after = client.get(f"/webhooks/{path}?cursor={found['nextCursor']}&payload=number%3D1045", headers=headers)
        assert len(after.json()["data"]) == 1


def test_the_keys_are_listed_and_complete_the_bar(client: httpx.Client, of_acme: dict[str, str]) -> None:
    assert [each["key"] for each in asked(client, of_acme, "search-keys")[1]["data"]] == ["number", "secret.code"]
    browser = signed_in(client, "read")
    for list_ in ("deliveries", "messages"):
        offers = unescape(browser.get(f"/{list_}/offers?q=payload:num").text)
        assert re.findall(r'data-text="([^"]*)"', offers) == ["payload:number="]
        assert "order.paid" in offers
        assert re.findall("data-text", browser.get(f"/{list_}/offers?q=payload:number%3D7").text) == []


@pytest.mark.parametrize("list_", ["deliveries", "messages"])
def test_the_page_says_since_when_a_key_is_searched(client: httpx.Client, list_: str) -> None:
    browser = signed_in(client, "read")
    page = browser.get(f"/{list_}?payload=number%3D1045")
    assert "order.paid by number since" in page.text
    assert "payload:number=1045" in page.text
    assert_strict(page.text)
    assert "by number since" not in browser.get(f"/{list_}").text
    hostile = browser.ask("GET", f"/{list_}?payload=%3Cscript%3E%3D1")
    assert hostile.status_code == 422
    assert "<script>=" not in hostile.text


def test_the_page_of_an_event_shows_its_keys(client: httpx.Client) -> None:
    browser = signed_in(client, "read")
    page = unescape(browser.get("/events/order.paid").text)
    assert re.findall(r"payload:[^<]*", page) == ["payload:number=", "payload:secret.code="]
    without = browser.get("/events/webhook.endpoint.disabled")
    assert without.status_code == 200
    assert "Searched by" not in without.text


@pytest.mark.parametrize("path", ["messages", "deliveries"])
def test_a_search_that_takes_too_long_is_503_to_be_tried_again(
    client: httpx.Client, installed: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_TIMEOUT_SECONDS", 1)
    with psycopg.connect(installed) as other:
        other.execute("lock table svc.webhook_search_values")
        answer = client.get(f"/webhooks/{path}", params={"payload": OWN}, headers=bearer("read"))
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "database_timeout", "5")


def test_messages_and_deliveries_are_told_apart_by_the_values_that_are_searched(client: httpx.Client) -> None:
    writer = signed_in(client, "write")
    for page in ("/messages", "/deliveries"):
        assert '<bdi class="about">number 1045</bdi>' in writer.get(page).text
