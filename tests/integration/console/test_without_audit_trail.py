"""A console whose database has webhooks alone: it tells nothing of the audit trail, until it is added."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import Config, Settings, audit, schema, webhooks
from svc_pg.console import Console, register_tenants
from svc_pg.console.status import offered_products
from tests.integration.console.browsing import Browser, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database

OF_THE_AUDIT_TRAIL = re.compile(
    r"audit|\bseals?\b|legal hold|\berase|\brecords\b|time travel|\bentr(?:y|ies)\b|severity|\bexport|\bDDL\b",
    re.IGNORECASE,
)
PAGES = [
    "/overview",
    "/deliveries",
    "/endpoints",
    "/endpoints/new",
    "/events",
    "/search?q=acme",
    "/search?q=customer 7",
    "/search?q=42",
    "/search?q=zzz",
    "/search",
    "/tenants",
    "/tenants/acme",
    "/new-tenant",
    "/sessions",
    "/tokens",
    "/tokens/new",
    "/system",
    "/activity",
    "/activity/changes",
    "/views",
]
ALONE: Any = {"products": ["webhooks"]}


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, Config(**ALONE))
            conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
        yield conninfo


@pytest.fixture(scope="module")
def endpoint(installed: str) -> str:
    with psycopg.connect(installed) as conn, conn.transaction(), audit.actor(conn, "ann"):
        made = webhooks.endpoints.create(
            conn, url="https://example.com/hook", events=["*"], settings=Settings(encryption_keys=KEYS_TEXT)
        )
        return str(made.id)


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


def test_the_capabilities_are_without_the_audit_trail(client: httpx.Client) -> None:
    assert client.get("/console/capabilities").json()["products"] == ["account", "webhooks", "tenant"]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_tells_of_the_audit_trail(admin: Browser, page: str) -> None:
    assert words_of_the_audit_trail(admin, page) == []


def test_no_page_of_one_thing_tells_of_the_audit_trail(admin: Browser, endpoint: str) -> None:
    for page in (f"/endpoints/{endpoint}", f"/endpoints/{endpoint}/edit", f"/endpoints/{endpoint}/end"):
        assert words_of_the_audit_trail(admin, page) == []


def words_of_the_audit_trail(admin: Browser, page: str) -> list[str]:
    found = admin.get(page)
    assert found.status_code == 200, page
    assert_strict(found.text)
    spoken = re.sub(r"(?:placeholder|title|aria-label|value)=\"([^\"]*)\"", r">\1<", found.text)
    return OF_THE_AUDIT_TRAIL.findall(re.sub(r"<[^>]*>|svc[.]\w+", " ", spoken))


@pytest.mark.parametrize("page", ["/audit", "/tail", "/audit/entries/1", "/audit/records/public.customer/7"])
def test_a_page_of_the_audit_trail_says_that_it_is_not_installed(admin: Browser, page: str) -> None:
    found = admin.get(page)
    assert found.status_code == 503
    assert "The database has no audit trail of svc-pg" in found.text
    assert "add --all" in found.text


@pytest.mark.parametrize("route", ["/audit/entries", "/audit/facets", "/audit/tables", "/audit/holds", "/audit/stats"])
def test_a_route_of_the_audit_trail_says_that_it_is_not_installed(client: httpx.Client, route: str) -> None:
    answer = client.get(route, headers=bearer("admin"))
    assert_problem(answer, 503, "not_installed")
    assert "add --all" in answer.json()["detail"]


def test_the_document_of_the_api_has_no_route_of_the_audit_trail(client: httpx.Client) -> None:
    document = client.get("/console/openapi.json").json()
    assert [path for path in document["paths"] if path.startswith("/audit")] == []
    assert "/webhooks/endpoints" in document["paths"]
    assert "Audit log" not in [tag["name"] for tag in document["tags"]]
    assert document["webhooks"]


def test_a_change_of_an_endpoint_is_told(client: httpx.Client, admin: Browser, endpoint: str) -> None:
    tag = client.get(f"/webhooks/endpoints/{endpoint}", headers=bearer("admin")).headers["ETag"]
    changed = client.patch(
        f"/webhooks/endpoints/{endpoint}",
        json={"description": "The shop"},
        headers=bearer("admin") | {"If-Match": tag},
    )
    assert changed.status_code == 200, changed.text
    query = {"resource": "svc.webhook_endpoints", "record": endpoint}
    told = client.get("/account/data-changes", params=query, headers=bearer("read")).json()["data"]
    assert [(each["operation"], each["actorId"]) for each in told][-1] == ("INSERT", "ann")
    assert "description" in told[0]["changedFields"]
    assert told[0]["afterData"]["description"] == "The shop"
    assert "secret" not in told[0]["afterData"]
    page = admin.get("/activity/changes").text
    assert "Changed endpoint" in page
    assert "description" in page
    assert re.search(rf'/endpoints/{endpoint}" title="{endpoint}"><bdi>The shop</bdi>', page), "by its name"
    assert "activity/changes" in admin.get("/activity").text
    assert "changed description" in admin.get(f"/endpoints/{endpoint}").text


def test_only_our_own_tables_are_told(client: httpx.Client) -> None:
    everything = client.get("/account/data-changes", headers=bearer("read")).json()["data"]
    assert {each["tableName"] for each in everything} <= {
        "svc.webhook_endpoints",
        "svc.tenants",
        "svc.console_sessions",
        "svc.console_tokens",
    }
    nothing = client.get("/account/data-changes?resource=public.customer", headers=bearer("read")).json()["data"]
    assert nothing == []
    assert_problem(client.get("/account/data-changes?text=x", headers=bearer("read")), 422, "invalid_parameter")


@pytest.fixture
def asking_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered_products, "REMEMBERED_SECONDS", 0)
    for limit in ("_FIRST_SECONDS", "_LONGEST_SECONDS"):
        monkeypatch.setattr(offered_products, limit, 30)


@pytest.mark.usefixtures("asking_always")
def test_the_audit_trail_appears_when_it_is_added(postgres: str) -> None:
    with new_database(postgres) as conninfo, psycopg.connect(conninfo) as conn:
        schema.install(conn, Config(**ALONE))
        with serving_installed(Console(settings(database_url=conninfo))) as client:
            assert client.get("/console/ready").status_code == 200
            admin = signed_in(client, "admin")
            assert ">Audit log<" not in admin.get("/overview").text
            schema.install(conn, Config(products=["audit", "webhooks"]))
            assert client.get("/console/capabilities").json()["products"] == ["account", "audit", "webhooks"]
            assert "Audit log" in admin.get("/overview").text
            assert client.get("/audit/entries", headers=bearer("read")).status_code == 200
            assert "/audit/entries" in client.get("/console/openapi.json").json()["paths"]
