"""A call with a key is made once: its repetition gets the first answer, however often and by whomever else it comes."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import urandom
from typing import Any, Final

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg.console import (
    AuthenticatedRequest,
    Console,
    ConsoleRequest,
    ConsoleResponse,
    Product,
    ProductEndpoint,
    Session,
    register_tenants,
    webhooks_app,
)
from svc_pg.console.http.repeated_calls import REPLAYED
from svc_pg.console.published_document import published_document
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from tests.integration.console.serving import assert_problem, bearer, serving, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import Prepare

CONFIG: Final = hooks_config("order.created")
ENDPOINT: Final = {"url": "https://9.9.9.9/hook", "events": ["order.*"]}
VIEW: Final = {"of": "deliveries", "name": "failures", "question": "status:failed"}
DOCUMENT: Final[Any] = published_document()


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@dataclass(frozen=True)
class Served:
    client: httpx.Client
    conninfo: str
    console: Console

    def number(self, table: str) -> Any:
        with psycopg.connect(self.conninfo) as conn:
            return scalar(conn, f"select count(*) from svc.{table}")

    def post(self, path: str, body: object = None, *, key: str, token: dict[str, str] | None = None) -> httpx.Response:
        return self.client.post(path, json=body, headers={"Idempotency-Key": key, **(token or {})})


@pytest.fixture
def served(database: str) -> Iterator[Served]:
    console = Console(settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT)), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        client.headers.update(bearer("admin"))
        yield Served(client, database, console)


def endpoint(served: Served) -> str:
    return str(served.client.post("/webhooks/endpoints", json=ENDPOINT).json()["id"])


def made_and(action: str, body: object = None) -> Callable[[Served], tuple[str, object]]:
    return lambda served: (f"/webhooks/endpoints/{endpoint(served)}/{action}", body)


CALLS: Final[dict[str, tuple[Callable[[Served], tuple[str, object]], str]]] = {
    "endpoints.create": (lambda _: ("/webhooks/endpoints", ENDPOINT), "webhook_endpoints"),
    "endpoints.ping": (made_and("ping"), "webhook_deliveries"),
    "endpoints.rotate_secret": (made_and("rotate-secret", {}), "webhook_endpoints"),
    "endpoints.replay": (made_and("replay", {"since": "1d", "newIds": True}), "webhook_messages"),
    "tokens.create": (lambda _: ("/account/tokens", {"name": "nightly", "permission": "read"}), "console_tokens"),
    "tenants.create": (lambda _: ("/tenant/tenants", {"name": "Acme"}), "tenants"),
    "views.create": (lambda _: ("/account/views", VIEW), "console_views"),
    "own_views.create": (lambda _: ("/account/own-views", VIEW), "console_views"),
    "portal_sessions.create": (lambda _: ("/webhooks/portal-sessions", {"tenant": "acme"}), "console_portal_links"),
}


@pytest.mark.parametrize(("call", "table"), CALLS.values(), ids=CALLS.keys())
def test_a_repetition_changes_nothing_and_gets_the_first_answer(
    served: Served, call: Callable[[Served], tuple[str, object]], table: str
) -> None:
    path, body = call(served)
    if "portal" in path:
        served.client.post("/tenant/tenants", json={"id": "acme", "name": "Acme"})
    first = served.post(path, body, key="k-1")
    assert first.is_success, first.text
    number = served.number(table)
    again = served.post(path, body, key="k-1")
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert [each.headers.get("location") for each in (first, again)] == [first.headers.get("location")] * 2
    assert (first.headers.get(REPLAYED), again.headers[REPLAYED]) == (None, "true")
    assert served.number(table) == number


def test_every_call_that_takes_a_key_is_tried_here() -> None:
    posts = [item["post"] for item in DOCUMENT["paths"].values() if "post" in item]
    keyed = [
        post["operationId"]
        for post in posts
        if any(parameter["name"] == "Idempotency-Key" for parameter in post.get("parameters", []))
    ]
    assert sorted(keyed) == sorted([*CALLS, "events.send"])
    making = [post["operationId"] for post in posts if "201" in post["responses"]]
    assert set(making) <= set(keyed)


def test_the_same_key_with_another_body_is_refused_and_with_the_same_in_other_words_is_not(served: Served) -> None:
    assert served.post("/tenant/tenants", {"id": "a", "name": "Acme"}, key="k").status_code == 201
    assert served.post("/tenant/tenants", {"name": "Acme", "id": "a"}, key="k").status_code == 201
    refused = served.post("/tenant/tenants", {"id": "b", "name": "Bolt"}, key="k")
    assert_problem(refused, 422, "idempotency_key_reused")
    assert served.number("tenants") == 1


def test_another_key_another_path_and_another_session_make_another(served: Served) -> None:
    tokens = served.client.post("/account/tokens", json={"name": "other", "permission": "admin"}).json()["token"]
    first = served.post("/webhooks/endpoints", ENDPOINT, key="k").json()["id"]
    others = [
        served.post("/webhooks/endpoints", ENDPOINT, key="k-2"),
        served.post("/webhooks/endpoints", ENDPOINT, key="k", token={"Authorization": f"Bearer {tokens}"}),
        served.client.post("/webhooks/endpoints", json=ENDPOINT),
        served.client.post("/webhooks/endpoints", json=ENDPOINT),
    ]
    ids = {first, *(other.json()["id"] for other in others)}
    assert (len(ids), served.number("webhook_endpoints")) == (5, 5)
    assert served.post(f"/webhooks/endpoints/{first}/ping", key="k").status_code == 202


def test_a_refused_call_may_be_made_again_with_its_key(served: Served) -> None:
    refused = served.post("/webhooks/portal-sessions", {"tenant": "late"}, key="k")
    assert_problem(refused, 404, "unknown_tenant")
    served.client.post("/tenant/tenants", json={"id": "late", "name": "Late"})
    assert served.post("/webhooks/portal-sessions", {"tenant": "late"}, key="k").status_code == 201


def test_a_key_is_forgotten_after_a_day_whether_maintenance_runs_or_not(served: Served) -> None:
    path, body = "/webhooks/endpoints", ENDPOINT
    first = served.post(path, body, key="daily")
    with psycopg.connect(served.conninfo) as conn:
        conn.execute("update svc.console_forms set sent_at = now() - interval '25 hours'")
    second, again = (served.post(path, body, key="daily") for _ in range(2))
    assert [response.status_code for response in (first, second, again)] == [201] * 3
    assert first.json()["id"] != second.json()["id"] == again.json()["id"]
    assert [REPLAYED in response.headers for response in (first, second, again)] == [False, False, True]


def test_what_has_become_impossible_since_is_answered_as_it_was(served: Served) -> None:
    path = f"/webhooks/endpoints/{endpoint(served)}"
    first = served.post(f"{path}/ping", key="k")
    assert served.client.delete(path).status_code == 204
    assert served.post(f"{path}/ping", key="k").json() == first.json()
    assert_problem(served.post(f"{path}/ping", key="k-2"), 404, "unknown_endpoint")


def test_calls_at_the_same_time_make_one(served: Served) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: served.post("/webhooks/endpoints", ENDPOINT, key="k"), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert served.number("webhook_endpoints") == 1


@pytest.mark.parametrize("keys", [[""], ["a", "b"], ["x" * 1025]])
def test_a_key_is_given_once_and_is_neither_empty_nor_long(served: Served, keys: list[str]) -> None:
    headers = [("idempotency-key", key) for key in keys]
    answer = served.client.post("/tenant/tenants", json={"name": "Acme"}, headers=headers)
    assert_problem(answer, 422, "invalid_idempotency_key")
    assert served.number("tenants") == 0


def test_an_answer_that_is_too_long_to_keep_is_still_made_once(served: Served) -> None:
    """Of a route of the application: all of them may keep answers."""

    async def order(request: AuthenticatedRequest) -> ConsoleResponse:
        async with served.console.acting(request) as conn:
            await conn.execute("insert into svc.tenants (name) values ('Acme')")
        return ConsoleResponse(200, urandom(16 * 1024).hex())

    route = ProductEndpoint(method="POST", path="/orders", handler=order, keeps_answer=True)
    served.console.register_product(Product(id="shop", name="Shop", endpoints=[route]))
    assert len(served.post("/shop/orders", 1, key="k").text) > 32 * 1024
    assert_problem(served.post("/shop/orders", 1, key="k"), 409, "already_made")
    assert_problem(served.post("/shop/orders", 2, key="k"), 422, "idempotency_key_reused")
    assert served.number("tenants") == 1


def test_no_secret_of_a_kept_answer_is_in_the_database(served: Served) -> None:
    secret = served.post("/webhooks/endpoints", ENDPOINT, key="k-secret").json()["secret"]
    with psycopg.connect(served.conninfo) as conn:
        kept = str(conn.execute("select answer from svc.console_forms").fetchall())
    assert len(kept) > 100
    assert (secret in kept, "k-secret" in kept) == (False, False)


def test_the_api_of_webhooks_under_a_path_of_its_own_keeps_answers_too(served: Served) -> None:
    headers = {**bearer("admin"), "Idempotency-Key": "k"}
    with serving(webhooks_app(served.console)) as base_url:
        first, again = (httpx.post(f"{base_url}/endpoints", json=ENDPOINT, headers=headers) for _ in range(2))
    assert (first.status_code, again.text) == (201, first.text)


def test_two_callers_with_one_id_of_a_session_get_an_answer_each(served: Served) -> None:
    async def caller(request: ConsoleRequest) -> Session:
        tenant = request.headers["x-tenant"]
        until = datetime.now(UTC) + timedelta(hours=1)
        return Session("7", f"{tenant}@shop.example", ("read", "write"), until, tenant)

    with serving(webhooks_app(served.console, session_of=caller)) as base_url:
        acme, bolt = (
            httpx.post(f"{base_url}/endpoints", json=ENDPOINT, headers={"X-Tenant": tenant, "Idempotency-Key": "k"})
            for tenant in ("acme", "bolt")
        )
    assert [answer.json()["tenant"] for answer in (acme, bolt)] == ["acme", "bolt"]
    assert REPLAYED not in bolt.headers


def test_a_route_cannot_keep_a_stream() -> None:
    with pytest.raises(ConfigError, match="an answer that is a stream cannot be kept"):
        ProductEndpoint(
            method="POST",
            path="/notes",
            required_permission="write",
            handler=print,  # type: ignore[arg-type]
            is_stream=True,
            keeps_answer=True,
        )
