from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from svc_pg.console import Console, ProductEndpoint
from svc_pg.console.openapi.document import document, product_routes
from tests.integration.console.serving import PREFIX, assert_problem, bearer, serving, settings
from tests.support.documents import examples
from tests.support.tables import audited, create_and_audit, log

TENANTS = "create table customer (number int generated always as identity primary key, company text not null)"


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    """A console with the product and the tenants of the document."""
    with psycopg.connect(database) as conn:
        conn.execute(TENANTS)
    create_and_audit(
        database, "create table note (id int generated always as identity primary key, text text)", audited("note")
    )
    app = FastAPI()
    written = {"settings": settings(database_url=database), "app": app}
    for example in examples("products.md", "Write a product"):
        exec(example, written)
    console: Console = written["console"]  # type: ignore[assignment] # made by the example
    exec(examples("products.md", "Tenants")[1], written)
    app.router.lifespan_context = console.lifespan
    with serving(app) as url, httpx.Client(base_url=url + PREFIX, headers=bearer("admin")) as client:
        yield client


def test_the_example_of_a_product_works_and_is_on_the_record(client: httpx.Client, database: str) -> None:
    added = client.post("/notes/notes", json={"text": "first"})
    assert (added.status_code, added.headers["location"]) == (201, f"{PREFIX}/notes/notes/1")
    assert client.get("/notes/notes").json() == {
        "data": [{"id": "1", "text": "first"}],
        "nextCursor": None,
        "prevCursor": None,
    }
    assert_problem(client.post("/notes/notes", json={"text": 1}), 422, "invalid_body")
    assert client.delete("/notes/notes/1").status_code == 204
    assert_problem(client.delete("/notes/notes/1"), 404, "unknown_note")
    with psycopg.connect(database) as conn:
        assert {entry["actor_id"] for entry in log(conn) if entry["table_name"] == "public.note"} == {
            "ann@corp.example"
        }


def test_the_example_of_an_own_table_of_tenants_works(client: httpx.Client) -> None:
    assert client.post("/tenant/tenants", json={"name": "Acme"}).json()["id"] == "1"
    assert [tenant["name"] for tenant in client.get("/tenant/tenants").json()["data"]] == ["Acme"]


def test_the_example_of_documentation_describes_the_route() -> None:
    made: dict[str, Any] = {}
    exec(examples("products.md", "Write a product")[0], made)
    handler: Callable[..., Any] = made["notes"]
    [text] = examples("products.md", "Document routes")
    endpoint: ProductEndpoint = eval(text, made | {"add_note": handler})
    product = made["Product"](id="notes", name="Notes", endpoints=[endpoint])
    described: Any = document(product_routes(product, below="/notes"), title="Notes", server_url="/")
    operation = described["paths"]["/notes/notes"]["post"]
    assert (operation["summary"], next(iter(operation["responses"]))) == ("Add a note", "201")
    assert "409" in operation["responses"]
