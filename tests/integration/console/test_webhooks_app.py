"""The management API of webhooks under a path of the application's own."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import Message

from svc_pg import schema
from svc_pg.console import Console, ConsoleRequest, Problem, Session, webhooks_app
from svc_pg.console.openapi.document import document, product_routes
from tests.integration.console.conformance import assert_conforms, operations
from tests.integration.console.serving import assert_problem, bearer, serving, settings
from tests.support.hooks import KEYS_TEXT, hooks_config
from tests.support.postgres import new_database

CONFIG = hooks_config("order.created")
BODY = {"url": "http://127.0.0.1:9/hook", "events": ["*"]}


def console(database_url: str | None = None) -> Console:
    return Console(settings(database_url=database_url, encryption_keys=SecretStr(KEYS_TEXT)), config=CONFIG)


def host(made: Console) -> FastAPI:
    """An application with the API twice: for people with a session, and for customers with a key."""
    app = FastAPI(lifespan=made.lifespan)
    app.mount("/api/webhooks", webhooks_app(made))
    app.mount("/customers", webhooks_app(made, session_of=customer))
    app.mount("/@api:v1/{shop}", webhooks_app(made))
    return app


async def customer(request: ConsoleRequest) -> Session:
    key = request.headers.get("x-api-key")
    if key not in ("known", "late"):
        raise Problem(401, "not_authenticated")
    return Session(
        session_id="key-1",
        email="customer@example.com",
        permissions=("read",),
        expires_at=datetime.now(UTC) + timedelta(minutes=1 if key == "known" else -1),
    )


@pytest.fixture(scope="module")
def base_url(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, CONFIG)
        with serving(host(console(conninfo))) as base_url:
            yield base_url


@pytest.fixture
def client(base_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{base_url}/api/webhooks", headers=bearer("write")) as client:
        yield client


def test_it_answers_below_the_path_that_it_is_mounted_at(client: httpx.Client) -> None:
    response = client.post("/endpoints", json=BODY)
    assert response.status_code == 201
    endpoint = response.json()
    assert response.headers["location"] == f"/api/webhooks/endpoints/{endpoint['id']}"
    assert client.get(f"/endpoints/{endpoint['id']}").json()["url"] == endpoint["url"]
    assert client.get("/deliveries", params={"endpointId": endpoint["id"]}).json()["data"] == []


@pytest.mark.parametrize("path", ["/@api:v1/north", "/%40api%3Av1/north", "/@api:v1/a:b@c", "/%61pi/webhooks"])
def test_it_answers_however_its_path_is_spelt(base_url: str, path: str) -> None:
    assert httpx.get(f"{base_url}{path}/endpoints", headers=bearer("read")).status_code == 200
    document = httpx.get(f"{base_url}{path}/openapi.json").json()
    assert len(document["servers"]) == 1


def test_nothing_else_of_the_console_is_there(client: httpx.Client) -> None:
    for path in ("/webhooks/endpoints", "/audit/entries", "/console/health", "/session/init", ""):
        assert client.get(path).status_code in (404, 307), path


def test_there_is_no_mode_without_a_session(client: httpx.Client, base_url: str) -> None:
    assert_problem(client.get("/endpoints", headers={"authorization": ""}), 401, "not_authenticated")
    assert_problem(client.get("/endpoints", headers={"authorization": "Bearer x"}), 401, "invalid_token")
    assert_problem(client.post("/endpoints", json=BODY, headers=bearer("read")), 403, "insufficient_scope")
    assert_problem(httpx.get(f"{base_url}/customers/endpoints", headers=bearer("admin")), 401, "not_authenticated")


def test_the_application_may_say_itself_who_asks(base_url: str) -> None:
    known = {"x-api-key": "known"}
    assert httpx.get(f"{base_url}/customers/endpoints", headers=known).status_code == 200
    late = httpx.get(f"{base_url}/customers/endpoints", headers={"x-api-key": "late"})
    assert_problem(late, 401, "not_authenticated")
    refused = httpx.post(f"{base_url}/customers/endpoints", json=BODY, headers=known)
    assert_problem(refused, 403, "insufficient_scope")


def test_a_page_of_another_site_cannot_use_a_session_of_the_application(base_url: str) -> None:
    known = {"x-api-key": "known"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        answer = httpx.post(f"{base_url}/customers/endpoints", json=BODY, headers=known | headers)
        assert_problem(answer, 403, "foreign_origin")
        assert httpx.get(f"{base_url}/customers/endpoints", headers=known | headers).status_code == 200


def test_the_document_names_the_path_that_it_is_mounted_at(client: httpx.Client) -> None:
    served = client.get("/openapi.json", headers={"authorization": ""}).json()
    assert served["servers"] == [{"url": "/api/webhooks"}]
    assert "/endpoints/{id}/rotate-secret" in served["paths"]


DOCUMENT = document(product_routes(console().webhooks, below=""), title="Webhooks", server_url="/api/webhooks")
OPERATIONS = operations(DOCUMENT)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_answer_is_one_that_the_document_promises(client: httpx.Client, operation: str) -> None:
    unknown = {"id": str(uuid4())} if "{id}" in operation else None  # a line break in a path ends in the host's router
    assert_conforms(
        DOCUMENT,
        operation,
        base_url=str(client.base_url),
        headers=bearer("write"),
        path_parameters=unknown,
        examples=5,  # the handlers got more of them below the console's own path
    )


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if "{id}" in operation])
def test_answers_about_what_there_is_conform_too(client: httpx.Client, operation: str) -> None:
    endpoint = client.post("/endpoints", json=BODY).json()["id"]
    client.post("/events", json={"event": "order.created", "payload": {"n": 1.10}})
    [delivery] = client.get("/deliveries", params={"endpointId": endpoint}).json()["data"]
    known = delivery["id"] if "/deliveries/" in operation else endpoint
    assert_conforms(
        DOCUMENT,
        operation,
        base_url=str(client.base_url),
        headers=bearer("write"),
        path_parameters={"id": known},
    )


def test_a_websocket_is_refused() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/api/webhooks/endpoints", "headers": [], "query_string": b""}
    asyncio.run(host(console())(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
