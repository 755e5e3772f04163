import logging
from collections.abc import Iterator

import httpx
import pytest

from svc_pg.console.http import tokens
from tests.integration.console.serving import (
    KEY,
    LEAKED,
    ORIGIN,
    assert_problem,
    bearer,
    new_console,
    serving_installed,
)

CONSOLE_LIMIT = 16 * 1024
PRODUCT_LIMIT = 1024 * 1024


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving_installed(new_console()) as client:
        yield client


# Console routes


def test_health_needs_no_session_and_no_database(client: httpx.Client) -> None:
    response = client.get("/console/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert response.headers["content-type"] == "application/json"


def test_health_may_be_asked_for_without_its_body(client: httpx.Client) -> None:
    response = client.head("/console/health")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == "15"


def test_capabilities_tell_products_sign_in_and_permissions(client: httpx.Client) -> None:
    assert client.get("/console/capabilities").json() == {
        "products": ["account", "audit", "webhooks", "shop"],
        "authMethods": ["auto_approve"],
        "permissions": ["read", "write", "admin"],
        "apiVersion": 1,
    }


@pytest.mark.parametrize(("method", "path"), [("POST", "verify"), ("GET", "poll"), ("POST", "claim")])
def test_magic_link_routes_do_not_exist_in_auto_approve_mode(client: httpx.Client, method: str, path: str) -> None:
    assert_problem(client.request(method, f"/console/session/{path}"), 404, "not_found")


def test_auto_approve_gives_a_session_for_the_asked_address(client: httpx.Client) -> None:
    document = client.post("/console/session/init", json={"email": "bob@corp.example"}).json()
    assert (document["method"], document["tokenType"], document["expiresIn"]) == ("auto_approve", "Bearer", 86400)
    echo = client.get("/shop/orders/7", headers={"Authorization": f"Bearer {document['sessionToken']}"}).json()
    assert echo["email"] == "bob@corp.example"
    assert echo["permissions"] == ["read", "write", "admin"]


@pytest.mark.parametrize("content", [b"", b"{}"])
def test_auto_approve_without_an_address_uses_the_developers(client: httpx.Client, content: bytes) -> None:
    response = client.post("/console/session/init", content=content, headers={"Content-Type": "application/json"})
    session = tokens.verify(response.json()["sessionToken"], KEY, method="auto_approve")
    assert session.email == "dev@localhost"


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ann",
        "@corp.example",
        "ann@",
        "ann@corp.example, bob@corp.example",
        "Ann <ann@corp.example>",
        "a@b\r\nBcc: c@d",
        "ann@corp.example\n",
        " ann@corp.example",
        "ann@-corp.example",
        "ann@corp..example",
        "a" * 250 + "@b.example",
        7,
        None,
    ],
)
def test_what_is_not_one_address_is_422(client: httpx.Client, email: object) -> None:
    assert_problem(client.post("/console/session/init", json={"email": email}), 422, "invalid_email")


@pytest.mark.parametrize("content", [b'["dev@localhost"]', b"null", b"7"])
def test_a_sign_in_that_is_no_object_is_422(client: httpx.Client, content: bytes) -> None:
    response = client.post("/console/session/init", content=content, headers={"Content-Type": "application/json"})
    assert_problem(response, 422, "invalid_body")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "192.0.2.1"])
def test_auto_approve_under_a_foreign_host_is_403(client: httpx.Client, host: str) -> None:
    assert_problem(client.post("/console/session/init", headers={"Host": host}), 403, "loopback_required")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.1.2.3:80", "[::1]:8000"])
def test_auto_approve_answers_under_every_loopback_host(client: httpx.Client, host: str) -> None:
    assert client.post("/console/session/init", headers={"Host": host}).status_code == 200


def test_auto_approve_for_a_foreign_peer_is_403(client: httpx.Client) -> None:
    # uvicorn believes this header when it comes from the same machine, as from a reverse proxy
    response = client.post("/console/session/init", headers={"X-Forwarded-For": "192.0.2.1"})
    assert_problem(response, 403, "loopback_required")


def test_auto_approve_gives_sessions_to_no_foreign_page(client: httpx.Client) -> None:
    def status(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.post("/console/session/init", headers=named).status_code

    assert_problem(
        client.post("/console/session/init", headers={"Origin": "https://evil.example"}), 403, "foreign_origin"
    )
    assert status(Origin="null") == 403
    assert status(Origin="http://localhost:1", Host="localhost:8000") == 403
    assert status(Sec_Fetch_Site="cross-site") == status(Sec_Fetch_Site="same-site") == 403
    assert status(Origin=ORIGIN, Sec_Fetch_Site="cross-site") == 200
    assert status(Origin="http://localhost:8000", Host="localhost:8000", Sec_Fetch_Site="same-origin") == 200
    assert status(Sec_Fetch_Site="none") == 200


def test_auto_approve_believes_what_a_proxy_forwards(client: httpx.Client) -> None:
    response = client.post("/console/session/init", headers={"Forwarded": "for=192.0.2.1"})
    assert_problem(response, 403, "loopback_required")


def test_an_auto_approved_session_has_no_more_than_is_allowed_today() -> None:
    before = bearer("read", "write", "admin")
    with serving_installed(new_console(console_allowed_actions=["write"])) as client:
        assert client.get("/account/session", headers=before).json()["permissions"] == ["read", "write"]
        assert client.delete("/shop/orders", headers=before).status_code == 403
    with serving_installed(new_console(console_allowed_actions=["read"])) as client:
        assert client.get("/account/session", headers=bearer("admin")).json()["permissions"] == ["read"]


# Routes of products


def test_a_handler_gets_session_params_query_and_body(client: httpx.Client) -> None:
    response = client.post("/shop/orders?page=2&page=3", json={"items": [1, "é"]}, headers=bearer("write"))
    assert response.json() == {
        "params": {},
        "query": {"page": "3"},
        "body": {"items": [1, "é"]},
        "email": "ann@corp.example",
        "permissions": ["write"],
        "path": "/shop/orders",
    }


def test_a_sync_handler_runs_beside_the_event_loop(client: httpx.Client) -> None:
    assert client.get("/shop/blocking", headers=bearer("read")).json() == {"blocksTheLoop": False}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/shop/orders/7"),
        ("PUT", "/shop/orders"),
        ("HEAD", "/shop/orders"),
        ("PROPFIND", "/shop/orders"),
        ("DELETE", "/console/health"),
        ("GET", "/"),
        ("GET", "/shop"),
        ("GET", "/shop/orders/"),
        ("GET", "/orders"),
    ],
)
def test_an_unknown_path_or_method_is_404(client: httpx.Client, method: str, path: str) -> None:
    response = client.request(method, path, headers=bearer("admin"))
    assert response.status_code == 404
    assert response.headers["vary"] == "Origin"
    if method != "HEAD":
        assert_problem(response, 404, "not_found")


def test_a_handler_answers_with_a_problem_of_its_own(client: httpx.Client) -> None:
    response = client.get("/shop/sold-out", headers=bearer("read"))
    assert_problem(response, 409, "sold_out")
    assert response.json()["detail"] == "Nothing is left."
    assert response.json()["ordersLeft"] == 0


def test_a_response_without_a_body_has_none(client: httpx.Client) -> None:
    response = client.delete("/shop/orders", headers=bearer("admin"))
    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers


def test_every_response_keeps_the_conventions(client: httpx.Client) -> None:
    requests = [client.get(path, headers=bearer("read")) for path in ("/console/health", "/shop/orders", "/none")]
    for response in [*requests, client.get("/shop/orders"), client.get("/shop/broken", headers=bearer("read"))]:
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["vary"] == "Origin"
    assert requests[1].headers["x-total"] == "0"


def test_every_request_has_an_id_of_its_own(client: httpx.Client) -> None:
    ids = [client.get("/console/health", headers={"X-Request-Id": "mine"}).headers["x-request-id"] for _ in range(3)]
    assert len({"mine", *ids}) == 4


@pytest.mark.parametrize("path", ["/shop/broken", "/shop/unwritable", "/shop/odd-problem"])
def test_a_failing_handler_is_a_500_without_a_detail_and_a_log_entry_with_the_request_id(
    client: httpx.Client, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "svc_pg.console"):
        response = client.get(path, headers=bearer("read") | {"Origin": ORIGIN})
    assert_problem(response, 500, "internal_error")
    assert "detail" not in response.json()
    assert LEAKED not in response.text
    assert response.headers["access-control-allow-origin"] == ORIGIN
    assert response.headers["x-request-id"] in caplog.text


# Bodies


def test_a_body_over_the_limit_is_413_also_without_a_content_length(client: httpx.Client) -> None:
    def chunked(size: int) -> Iterator[bytes]:
        yield b'"'
        for _ in range(size // 1024):
            yield b"x" * 1024
        yield b'"'

    json = bearer("write") | {"Content-Type": "application/json"}
    fitting = client.post("/shop/orders", content=chunked(PRODUCT_LIMIT - 1024), headers=json)
    assert fitting.status_code == 200
    assert_problem(client.post("/shop/orders", content=chunked(PRODUCT_LIMIT), headers=json), 413, "body_too_large")
    for content in (chunked(CONSOLE_LIMIT), b'"' + b"x" * CONSOLE_LIMIT + b'"'):
        response = client.post("/console/session/init", content=content, headers=json)
        assert_problem(response, 413, "body_too_large")
        assert response.json()["maxBytes"] == CONSOLE_LIMIT


def test_another_media_type_is_415_over_http(client: httpx.Client) -> None:
    assert_problem(client.post("/shop/orders", data={"a": "b"}, headers=bearer("write")), 415, "unsupported_media_type")


@pytest.mark.parametrize("content", [b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_strict_json_is_400(client: httpx.Client, content: bytes) -> None:
    json = bearer("write") | {"Content-Type": "application/json"}
    assert_problem(client.post("/shop/orders", content=content, headers=json), 400, "invalid_json")


def test_a_body_is_not_looked_at_before_the_session(client: httpx.Client) -> None:
    response = client.post("/shop/orders", content=b"{", headers={"Content-Type": "text/plain"})
    assert_problem(response, 401, "not_authenticated")
