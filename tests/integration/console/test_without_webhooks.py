"""A console whose database has the audit trail alone: it tells nothing of webhooks, until they are added."""

import asyncio
import re
from collections.abc import Iterator, Sequence

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, schema
from svc_pg.console import Console, register_tenants
from svc_pg.console.audit_log.live_updates import TOPICS
from svc_pg.console.database.pool import Database
from svc_pg.console.status import offered_products
from svc_pg.console.status.offered_products import OfferedProducts
from tests.integration.console.browsing import Browser, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import add_entry

OF_WEBHOOKS = re.compile(r"webhook|deliver|endpoint|event type|portal|message", re.IGNORECASE)
PAGES = [
    "/overview",
    "/audit",
    "/tail",
    "/audit/records/public.customer/7",
    "/search?q=acme",
    "/search?q=0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10",
    "/tenants",
    "/tenants/acme",
    "/new-tenant",
    "/sessions",
    "/tokens",
    "/tokens/new",
    "/system",
    "/activity",
    "/activity/changes",
]


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, Config(products=["audit"]))
            add_entry(conn, "public.customer", "INSERT", record_id="7", after={"id": 7}, severity="high")
            conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed))
    register_tenants(console)
    with pytest.MonkeyPatch.context() as patch, serving_installed(console) as client:
        patch.setattr(offered_products, "_FIRST_SECONDS", 30)
        assert client.get("/console/ready").status_code == 200
        yield client


@pytest.fixture
def admin(client: httpx.Client) -> Browser:
    return signed_in(client, "admin")


def test_the_capabilities_are_without_webhooks(client: httpx.Client) -> None:
    assert client.get("/console/capabilities").json()["products"] == ["account", "audit", "tenant"]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_tells_of_webhooks(admin: Browser, page: str) -> None:
    assert words_of_webhooks(admin, page) == []


def words_of_webhooks(admin: Browser, page: str) -> list[str]:
    found = admin.get(page)
    assert found.status_code == 200, page
    assert_strict(found.text)
    return OF_WEBHOOKS.findall(re.sub(r"<[^>]*>|svc[.]\w+", " ", found.text))


@pytest.mark.parametrize("page", ["/deliveries", "/endpoints", "/endpoints/new", "/events"])
def test_a_page_of_webhooks_says_that_these_are_not_installed(admin: Browser, page: str) -> None:
    found = admin.get(page)
    assert found.status_code == 503
    assert "The database has no webhooks of svc-pg" in found.text
    assert "svc-pg install" in found.text


@pytest.mark.parametrize("route", ["/webhooks/endpoints", "/webhooks/deliveries", "/webhooks/stats?by=hour"])
def test_a_route_of_webhooks_says_that_these_are_not_installed(client: httpx.Client, route: str) -> None:
    answer = client.get(route, headers=bearer("admin"))
    assert_problem(answer, 503, "not_installed")
    assert "add --all" in answer.json()["detail"]


def test_no_link_leads_to_a_portal_without_webhooks(client: httpx.Client) -> None:
    answer = client.post("/webhooks/portal-sessions", json={"tenant": "acme"}, headers=bearer("admin"))
    assert_problem(answer, 503, "not_installed")


def test_the_system_has_an_empty_queue(client: httpx.Client) -> None:
    status = client.get("/account/system", headers=bearer("admin")).json()
    assert status["drift"]["count"] == 0
    assert status["busyWorkers"] == []
    assert (status["backlog"]["active"], status["backlog"]["needsAttention"]) == (0, False)
    assert [each["name"] for each in status["sizes"] if each["name"].startswith("webhook")] == []


def test_changes_are_told(client: httpx.Client) -> None:
    assert "endpoints" in TOPICS
    with client.stream("GET", "/account/changes", headers=bearer("read")) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("event:"))
        assert next(lines) == "event: following"


@pytest.fixture
def asking_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered_products, "REMEMBERED_SECONDS", 0)
    for limit in ("_FIRST_SECONDS", "_LONGEST_SECONDS"):
        monkeypatch.setattr(offered_products, limit, 30)


@pytest.mark.usefixtures("asking_always")
def test_webhooks_appear_when_they_are_added_and_are_gone_when_they_are_taken_away(postgres: str) -> None:
    with new_database(postgres) as conninfo, psycopg.connect(conninfo) as conn:
        schema.install(conn, Config(products=["audit"]))
        console = Console(settings(database_url=conninfo))
        register_tenants(console)
        with serving_installed(console) as client:
            assert client.get("/console/ready").status_code == 200
            admin = signed_in(client, "admin")
            assert ">Deliveries<" not in admin.get("/overview").text
            schema.install(conn, Config(products=["audit", "webhooks"]))
            assert client.get("/console/capabilities").json()["products"] == ["account", "audit", "webhooks", "tenant"]
            page = admin.get("/overview").text
            assert "Endpoints" in page
            assert "Nothing was sent in this time" in page
            schema.install(conn, Config(products=["audit"]), prune=True)
            assert client.get("/console/capabilities").json()["products"] == ["account", "audit", "tenant"]
            for page in ("/overview", "/activity", "/system", "/tenants", "/tail"):
                assert words_of_webhooks(admin, page) == []
            sizes = client.get("/account/system", headers=bearer("admin")).json()["sizes"]
            assert {each["name"] for each in sizes} == {"audit_logs", "console_events"}


def test_all_who_ask_first_wait_for_the_answer(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered_products, "_FIRST_SECONDS", 30)
    monkeypatch.setattr(offered_products, "_LONGEST_SECONDS", 0)

    async def ask() -> Sequence[Sequence[str]]:
        database = Database(SecretStr(installed), None)
        async with database.opened():
            offered = OfferedProducts(database, lambda: ["audit", "webhooks"])
            return await asyncio.gather(*(offered.ids() for _ in range(5)))

    assert asyncio.run(ask()) == [["audit"]] * 5


def test_a_database_that_does_not_answer_is_taken_for_one_with_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered_products, "_FIRST_SECONDS", 0.1)
    console = Console(settings(database_url="host=127.0.0.1 port=9 dbname=shop"))
    with serving_installed(console) as client:
        assert client.get("/console/capabilities").json()["products"] == ["account", "audit", "webhooks"]
