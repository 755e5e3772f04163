from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from svc_pg.console import AuthenticatedRequest, Console, ConsoleResponse, Product, ProductEndpoint
from svc_pg.integrations.psycopg import with_audit
from tests.integration.console.serving import assert_problem, bearer, serving_with_pool, settings
from tests.support.tables import audited, create_and_audit, log


def notes(console: Console) -> Product:
    """A product of the application that changes a table of its own."""

    async def add(request: AuthenticatedRequest) -> ConsoleResponse:
        async with console.acting(request) as conn:
            await conn.execute("insert into note default values")
            if "fail" in request.query:
                raise RuntimeError("nothing of this stays")
        return ConsoleResponse(204)

    async def add_unattended(_request: AuthenticatedRequest) -> ConsoleResponse:
        async with console.connection() as conn:
            await conn.execute("insert into note default values")
            cursor = await conn.execute("select pg_backend_pid(), current_setting('svc.actor_id', true)")
            return ConsoleResponse(200, await cursor.fetchone())

    return Product(
        id="notes",
        name="Notes",
        endpoints=[
            ProductEndpoint(method="POST", path="/acting", handler=add, required_permission="write"),
            ProductEndpoint(method="POST", path="/unattended", handler=add_unattended, required_permission="write"),
        ],
    )


@pytest.fixture(params=["plain", "with_audit"])
def client(database: str, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A signed-in client of a console that shares the one connection of the application's pool."""
    create_and_audit(database, "create table note (id int generated always as identity primary key)", audited("note"))
    pool = AsyncConnectionPool[Any](database, min_size=1, max_size=1, open=False)
    console = Console(settings(), pool=with_audit(pool) if request.param == "with_audit" else pool)
    console.register_product(notes(console))
    with serving_with_pool(console, pool) as client:
        client.headers.update(bearer("write"))
        yield client


def entries(database: str) -> list[dict[str, Any]]:
    with psycopg.connect(database) as conn:
        return [entry for entry in log(conn) if entry["table_name"] == "public.note"]


def test_a_mutation_is_recorded_with_the_session_the_request_and_the_address(
    client: httpx.Client, database: str
) -> None:
    response = client.post("/notes/acting")
    assert response.status_code == 204
    [entry] = entries(database)
    assert entry["actor_id"] == "ann@corp.example"
    assert entry["context"]["request_id"] == response.headers["x-request-id"]
    assert entry["context"]["ip"] == "127.0.0.1"
    assert len(entry["context"]["session_id"]) == 36


def test_the_next_request_on_the_same_connection_has_no_actor(client: httpx.Client, database: str) -> None:
    client.post("/notes/acting")
    [first_pid, actor] = client.post("/notes/unattended").json()
    assert not actor
    assert client.post("/notes/unattended").json()[0] == first_pid
    assert [entry["actor_id"] for entry in entries(database)] == ["ann@corp.example", None, None]
    assert entries(database)[1]["context"] is None


def test_a_failed_mutation_leaves_neither_rows_nor_an_actor(client: httpx.Client, database: str) -> None:
    assert_problem(client.post("/notes/acting?fail"), 500, "internal_error")
    assert entries(database) == []
    assert not client.post("/notes/unattended").json()[1]


def test_the_actor_comes_from_the_session_alone(client: httpx.Client, database: str) -> None:
    client.post(
        "/notes/acting?actor=mallory",
        json={"email": "mallory@corp.example", "actorId": "mallory"},
        headers={"X-Actor": "mallory", "X-Request-Id": "forged", "Forwarded": "for=10.0.0.1"},
    )
    [entry] = entries(database)
    assert entry["actor_id"] == "ann@corp.example"
    assert entry["context"]["request_id"] != "forged"
    assert entry["context"]["ip"] == "127.0.0.1"
