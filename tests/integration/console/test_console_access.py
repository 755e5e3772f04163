from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from tests.integration.console.serving import ORIGIN, assert_problem, bearer, new_console, serving_installed


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving_installed(new_console()) as client:
        yield client


# Authentication and permissions


def test_no_credentials_are_401_with_a_bare_challenge(client: httpx.Client) -> None:
    query = {"access_token": bearer("admin")["Authorization"].removeprefix("Bearer ")}
    basic = {"Authorization": "Basic YW5uOnNlY3JldA=="}
    for response in (
        client.get("/shop/orders"),
        client.get("/shop/orders", params=query),
        client.get("/shop/orders", headers=basic),
        client.get("/shop/orders", headers={"Cookie": f"session={query['access_token']}"}),
    ):
        assert_problem(response, 401, "not_authenticated")
        assert response.headers["www-authenticate"] == 'Bearer realm="svc"'


def test_a_bad_token_is_401_invalid_token(client: httpx.Client) -> None:
    good = bearer("admin")["Authorization"]
    header, payload, _ = good.removeprefix("Bearer ").split(".")
    for value in (
        "Bearer",
        "Bearer x",
        f"Bearer {header}.{payload}.",
        f"{good}, {good}",
        good + "=",
        good.replace("Bearer ", "Bearer  "),
        bearer("admin", key=b"x" * 48)["Authorization"],
        bearer("admin", lifetime=timedelta(seconds=-1))["Authorization"],
    ):
        response = client.get("/shop/orders", headers={"Authorization": value})
        assert_problem(response, 401, "invalid_token")
        assert response.headers["www-authenticate"] == 'Bearer realm="svc", error="invalid_token"'


def test_two_authorization_headers_are_refused_even_if_both_are_good(client: httpx.Client) -> None:
    header = next(iter(bearer("admin").items()))
    assert_problem(client.get("/shop/orders", headers=[header, header]), 401, "invalid_token")


def test_the_scheme_is_case_insensitive(client: httpx.Client) -> None:
    lower = bearer("read")["Authorization"].replace("Bearer", "bearer")
    assert client.get("/shop/orders", headers={"Authorization": lower}).status_code == 200


def test_a_missing_permission_is_403_and_named(client: httpx.Client) -> None:
    response = client.post("/shop/orders", json={}, headers=bearer("read"))
    assert_problem(response, 403, "insufficient_scope")
    challenge = 'Bearer realm="svc", error="insufficient_scope", scope="write"'
    assert response.headers["www-authenticate"] == challenge
    assert response.json()["requiredPermission"] == "write"


def test_a_greater_permission_includes_the_smaller_over_http(client: httpx.Client) -> None:
    assert client.post("/shop/orders", json={}, headers=bearer("admin")).status_code == 200
    assert client.delete("/shop/orders", headers=bearer("write")).status_code == 403


@pytest.mark.parametrize("path", ["/audit/entries", "/webhooks/deliveries"])
def test_built_in_products_need_a_session_and_name_a_wrong_parameter(client: httpx.Client, path: str) -> None:
    assert_problem(client.get(path), 401, "not_authenticated")
    for query in ("colour=red", "limit=many", "limit=1&limit=2", "since=soon", "after=%00"):
        response = client.get(f"{path}?{query}", headers=bearer("read"))
        assert_problem(response, 422, "invalid_parameter")
        assert response.json()["parameter"] == query.partition("=")[0]


# Other origins


@pytest.mark.parametrize("path", ["/console/health", "/shop/orders", "/nothing/here", "/"])
def test_options_is_answered_at_once_anywhere(client: httpx.Client, path: str) -> None:
    response = client.options(path, headers={"Origin": ORIGIN, "Access-Control-Request-Method": "DELETE"})
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == ORIGIN
    assert response.headers["access-control-allow-methods"] == "GET, POST, PATCH, DELETE, PUT, OPTIONS"
    assert response.headers["access-control-allow-headers"] == "Content-Type, Authorization"
    assert response.headers["access-control-max-age"] == "600"
    assert response.headers["vary"] == "Origin"


def test_a_page_that_asks_to_send_a_precondition_may(client: httpx.Client) -> None:
    for asked in ("if-match", "content-type, If-Match"):
        response = client.options("/shop/orders", headers={"Origin": ORIGIN, "Access-Control-Request-Headers": asked})
        assert response.headers["access-control-allow-headers"] == "Content-Type, Authorization, If-Match"
    response = client.options("/shop/orders", headers={"Origin": ORIGIN, "Access-Control-Request-Headers": "x-other"})
    assert response.headers["access-control-allow-headers"] == "Content-Type, Authorization"


def test_a_page_of_an_allowed_origin_sees_the_headers_that_it_needs(client: httpx.Client) -> None:
    for path in ("/console/health", "/shop/orders", "/nothing/here"):
        exposed = client.get(path, headers={"Origin": ORIGIN}).headers["access-control-expose-headers"]
        assert set(exposed.split(", ")) == {
            "Retry-After", "Location", "Content-Disposition", "ETag", "X-Request-Id", "WWW-Authenticate", "Link",
            "Allow", "Svc-Pg-Version", "Idempotency-Replayed", "RateLimit", "RateLimit-Policy",
        }  # fmt: skip


def test_only_an_allowed_origin_may_read_and_never_with_credentials(client: httpx.Client) -> None:
    assert client.get("/console/health", headers={"Origin": ORIGIN}).headers["access-control-allow-origin"] == ORIGIN
    for origin in ("https://evil.example", "null", ORIGIN + ".evil.example", ORIGIN.replace("https", "http")):
        for method in ("GET", "OPTIONS"):
            response = client.request(method, "/console/health", headers={"Origin": origin})
            assert response.headers["vary"] == "Origin"
            assert not [name for name in response.headers if name.startswith("access-control-")]
    preflight = client.options("/console/health", headers={"Origin": ORIGIN})
    assert "access-control-allow-credentials" not in preflight.headers
