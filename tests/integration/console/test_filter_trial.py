"""Over HTTP a filter is tried on the messages that the caller may see, by whom may change endpoints."""

from collections.abc import Iterator
from datetime import timedelta

import httpx
import psycopg
import pytest

from svc_pg import Config
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from svc_pg.webhooks.endpoints import tried_filters
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.hooks import install
from tests.support.postgres import new_database
from tests.support.sent_in_order import send_in_order

CONFIG = Config.model_validate({"webhooks": {"events": {"order.paid": {}, "user.gone": {}}}})
PATH = "/webhooks/filter-trial"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a trial the time that a busy machine needs."""
    monkeypatch.setattr(tried_filters, "LONGEST", timedelta(hours=1))


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        install(conninfo, CONFIG)
        with psycopg.connect(conninfo) as conn:
            for tenant in ("acme", "globex", None):
                send_in_order(conn, "order.paid", {"amount": 7}, tenant=tenant)
            send_in_order(conn, "user.gone", {"amount": "x"}, tenant="acme")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


def test_whoever_may_change_endpoints_tries_a_filter(client: httpx.Client) -> None:
    tried = client.get(PATH, params={"filter": "strict $.amount > 6"}, headers=bearer("write")).json()["data"]
    assert [(each["eventName"], each["tenant"], each["isMet"]) for each in tried] == [
        ("user.gone", "acme", None), ("order.paid", None, True), ("order.paid", "globex", True),
        ("order.paid", "acme", True),
    ]  # fmt: skip
    assert "cannot be decided" in tried[0]["problem"]
    asked = {"filter": "$.amount > 6", "event": ["user.*", "order.lost"], "tenant": "acme"}
    tried = client.get(PATH, params=asked, headers=bearer("write")).json()["data"]
    assert [each["eventName"] for each in tried] == ["user.gone"]


def test_a_tenant_tries_it_on_its_own_messages_alone(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed, autocommit=True) as conn:
        token = api_tokens.add(conn, "acme", permission="write", tenant="acme").token
    own = {"Authorization": f"Bearer {token}"}
    tried = client.get(PATH, params={"filter": "$.amount > 6"}, headers=own).json()["data"]
    assert {each["tenant"] for each in tried} == {"acme"}
    refused = client.get(PATH, params={"filter": "$.amount > 6", "tenant": "globex"}, headers=own)
    assert_problem(refused, 422, "invalid_parameter")


def test_what_cannot_be_tried_is_refused(client: httpx.Client) -> None:
    writer = bearer("write")
    assert_problem(client.get(PATH, params={"filter": "$.a > 1"}, headers=bearer("read")), 403, "insufficient_scope")
    assert_problem(client.get(PATH, headers=writer), 422, "invalid_parameter")
    for path in ("$.a", "", "x" * 1001):
        answer = client.get(PATH, params={"filter": path}, headers=writer)
        assert_problem(answer, 422, "invalid_endpoint")
        assert answer.json()["errors"][0]["pointer"] == "/filter"
    for wrong in ({"filter": "\0"}, {"filter": "$.a > 1", "event": ["a"] * 101}, {"filter": ["$.a > 1"] * 2}):
        assert_problem(client.get(PATH, params=wrong, headers=writer), 422, "invalid_parameter")
