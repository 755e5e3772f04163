import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from svc_pg.console import Console, ConsoleRequest, Session, register_tenants
from svc_pg.console.http.quotas import Limit
from svc_pg.console.sessions import call_limits
from svc_pg.webhooks.secrets import new_key
from tests.integration.console.conformance import RANDOM_IN_A_THREAD, assert_conforms, operations
from tests.integration.console.serving import bearer, serving_installed, settings, shop
from tests.support.postgres import new_database

pytestmark = pytest.mark.filterwarnings(RANDOM_IN_A_THREAD)

ENCRYPTION_KEYS = new_key("test")
OF_ACME = {"Authorization": "Bearer of-acme"}


def customer(request: ConsoleRequest) -> Session | None:
    """A session of one tenant, by a token of the application's own."""
    is_acme = request.headers.get("authorization") == OF_ACME["Authorization"]
    ends_at = datetime.now(UTC) + timedelta(minutes=5)
    return Session("customer", "ann@acme.example", ("read", "write"), ends_at, "acme") if is_acme else None


def console(database_url: str | None = None) -> Console:
    given = settings(database_url=database_url, encryption_keys=ENCRYPTION_KEYS)
    made = Console(given, session_of=customer)
    register_tenants(made)
    return made


@pytest.fixture(scope="module")
def client(postgres: str, template: str) -> Iterator[httpx.Client]:
    with (
        pytest.MonkeyPatch.context() as patch,
        new_database(postgres, template=template) as conninfo,
        serving_installed(console(conninfo)) as client,
    ):
        patch.setattr(call_limits, "CALLS", Limit("calls", 1_000_000, 60))
        yield client  # without a token, because one may end before the tests do


@pytest.fixture(scope="module")
def tenant_id(client: httpx.Client) -> str:
    """The id of a tenant, about which there is an entry in the log."""
    response = client.post("/tenant/tenants", json={"name": "Known"}, headers=bearer("admin"))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


DOCUMENT = console().openapi()
STREAM = "GET /account/changes"  # whose answer goes on
PATHS: Any = DOCUMENT["paths"]
FOR_TENANTS = [
    operation
    for operation in operations(DOCUMENT)
    for method, path in [operation.split()]
    if "A session of one tenant" in PATHS[path][method.lower()].get("description", "")
]
HARD_TO_READ = ("-" * 33, "\ud800", '{"a": "\\u0000"}')


@pytest.mark.parametrize("operation", [operation for operation in operations(DOCUMENT) if operation != STREAM])
def test_every_answer_is_one_that_the_document_promises(client: httpx.Client, operation: str) -> None:
    assert_conforms(DOCUMENT, operation, base_url=str(client.base_url), headers=bearer("admin"))


@pytest.mark.parametrize("operation", FOR_TENANTS)
def test_every_answer_to_a_session_of_one_tenant_is_promised_too(client: httpx.Client, operation: str) -> None:
    assert_conforms(DOCUMENT, operation, base_url=str(client.base_url), headers=OF_ACME, examples=50)


@pytest.mark.parametrize("operation", ["GET /tenant/tenants/{id}", "PATCH /tenant/tenants/{id}"])
def test_answers_about_a_tenant_that_there_is_conform_too(client: httpx.Client, tenant_id: str, operation: str) -> None:
    assert_conforms(
        DOCUMENT,
        operation,
        base_url=str(client.base_url),
        headers=bearer("admin"),
        path_parameters={"id": tenant_id},
    )


@pytest.mark.parametrize("operation", ["GET /audit/entries/{id}", "GET /audit/records/{table}/{id}"])
def test_answers_about_an_entry_that_there_is_conform_too(client: httpx.Client, tenant_id: str, operation: str) -> None:
    found = client.get("/audit/entries", params={"record": tenant_id, "operation": "INSERT"}, headers=bearer("admin"))
    [entry] = found.json()["data"]
    known = {"id": entry["id"]} if operation.endswith("entries/{id}") else {"table": "svc.tenants", "id": tenant_id}
    assert_conforms(DOCUMENT, operation, base_url=str(client.base_url), headers=bearer("admin"), path_parameters=known)


@pytest.mark.usefixtures("tenant_id")  # with it, there is an entry to search in
def test_no_text_in_a_query_breaks_a_route(client: httpx.Client) -> None:
    written = [quote(text, safe="", errors="surrogatepass") for text in HARD_TO_READ]
    broken = []
    for path, item in PATHS.items():
        named = re.sub(r"{\w+}", "1", path.replace("{table}", "svc.tenants"))
        for parameter in item.get("get", {}).get("parameters", []) if f"GET {path}" != STREAM else []:
            if parameter["in"] == "query":
                targets = [f"{named}?{parameter['name']}={text}" for text in written]
                broken += [each for each in targets if client.get(each, headers=bearer("admin")).is_server_error]
    assert broken == []


def test_the_document_is_served_with_the_path_of_the_console(client: httpx.Client) -> None:
    response = client.get("/console/openapi.json", headers={"Authorization": ""})
    assert response.status_code == 200
    served = response.json()
    assert served == DOCUMENT
    assert served["servers"] == [{"url": "/.well-known/svc"}]


def test_a_product_that_is_registered_later_is_in_the_served_document_too() -> None:
    later = console()
    with serving_installed(later) as client:
        before = operations(client.get("/console/openapi.json").json())
        later.register_product(shop())
        after = operations(client.get("/console/openapi.json").json())
    assert set(after) - set(before) >= {"GET /shop/orders", "DELETE /shop/orders"}
