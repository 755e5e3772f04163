import gzip
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_args

import httpx
import pytest

from svc_pg.console import (
    AuthenticatedRequest,
    Console,
    ConsoleResponse,
    Problem,
    Product,
    ProductEndpoint,
    register_tenants,
)
from svc_pg.settings import Permission
from tests.integration.console.conformance import operations
from tests.integration.console.serving import (
    LEAKED,
    ORIGIN,
    assert_problem,
    bearer,
    new_console,
    serving_installed,
    settings,
)

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)


async def parts(*, failing_after: int) -> AsyncIterator[bytes]:
    for number in range(failing_after):
        yield b"x" * 100_000 + str(number).encode()
    raise RuntimeError(LEAKED)


async def unavailable() -> AsyncIterator[bytes]:
    raise Problem(503, "database_busy", headers={"Retry-After": "5"})
    yield b""


def files() -> Product:
    """Files that begin well, or not at all."""

    def serving(stream: AsyncIterator[bytes]) -> ConsoleResponse:
        return ConsoleResponse(200, stream, {"Content-Type": "text/csv"})

    async def broken(request: AuthenticatedRequest) -> ConsoleResponse:
        return serving(parts(failing_after=int(request.params["after"])))

    async def busy(_request: AuthenticatedRequest) -> ConsoleResponse:
        return serving(unavailable())

    return Product(
        id="files",
        name="Files",
        endpoints=[
            ProductEndpoint(method="GET", path="/broken/:after", handler=broken),
            ProductEndpoint(method="GET", path="/busy", handler=busy),
        ],
    )


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving_installed(new_console(files())) as client:
        yield client


def every_operation() -> list[tuple[str, str, Permission]]:
    """Method, path and permission of each built-in route that needs one."""
    console = Console(settings())
    register_tenants(console)
    document: Any = console.openapi()
    found = []
    for operation in operations(document):
        method, _, path = operation.partition(" ")
        security = document["paths"][path][method.lower()]["security"]
        found += [(method, path, role) for scheme in security for role in scheme["session"]]
    return found


def test_the_permission_of_every_built_in_route_is_the_one_that_was_decided() -> None:
    found: dict[str, set[str]] = {}
    for method, path, role in every_operation():
        found.setdefault(role, set()).add(f"{method} {path}")
    assert found["write"] == {
        "GET /audit/export",
        "GET /audit/entries/{id}/proof",
        "GET /audit/entries/{id}/certificate",
        "GET /audit/entries/{id}/erasure",
        "GET /audit/records/{table}/{id}/certificate",
        "GET /webhooks/filter-trial",
        "POST /account/views",
        "PATCH /account/views/{id}",
        "DELETE /account/views/{id}",
        "POST /tenant/tenants",
        "PATCH /tenant/tenants/{id}",
        "POST /webhooks/endpoints",
        "PATCH /webhooks/endpoints/{id}",
        "DELETE /webhooks/endpoints/{id}",
        "POST /webhooks/endpoints/{id}/pause",
        "POST /webhooks/endpoints/{id}/resume",
        "POST /webhooks/endpoints/{id}/disable",
        "POST /webhooks/endpoints/{id}/rotate-secret",
        "POST /webhooks/endpoints/{id}/ping",
        "POST /webhooks/endpoints/{id}/recover",
        "POST /webhooks/endpoints/{id}/replay",
        "POST /webhooks/deliveries/retry",
        "POST /webhooks/deliveries/cancel",
        "POST /webhooks/deliveries/{id}/retry",
        "POST /webhooks/deliveries/{id}/cancel",
        "POST /webhooks/events",
    }
    assert found["admin"] == {
        "DELETE /audit/entries",
        "DELETE /tenant/tenants/{id}",
        "GET /account/sessions",
        "GET /account/sessions/{id}",
        "DELETE /account/sessions/{id}",
        "GET /account/tokens",
        "GET /account/tokens/{id}",
        "POST /account/tokens",
        "DELETE /account/tokens/{id}",
        "GET /account/events",
        "GET /webhooks/portal-sessions",
        "GET /webhooks/portal-sessions/{id}",
        "POST /webhooks/portal-sessions",
        "DELETE /webhooks/portal-sessions/{id}",
    }
    assert {operation for operation in found["read"] if not operation.startswith("GET ")} == {
        "DELETE /account/session",
        "DELETE /account/own-sessions/{id}",
        "POST /account/own-views",
        "PATCH /account/own-views/{id}",
        "DELETE /account/own-views/{id}",
    }


@pytest.mark.parametrize(("method", "path", "needed"), every_operation())
def test_no_built_in_route_is_open_to_anybody_or_to_a_smaller_permission(
    method: str, path: str, needed: Permission, built_in: httpx.Client
) -> None:
    path = path.replace("{", "").replace("}", "")
    assert_problem(built_in.request(method, path), 401, "not_authenticated")
    for smaller in PERMISSIONS[: PERMISSIONS.index(needed)]:
        response = built_in.request(method, path, headers=bearer(smaller))
        assert_problem(response, 403, "insufficient_scope")
        assert f'scope="{needed}"' in response.headers["www-authenticate"]


@pytest.fixture(scope="module")
def built_in() -> Iterator[httpx.Client]:
    console = Console(settings())
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "*",
        "",
        ORIGIN + ".evil.example",
        ORIGIN.replace("console", "evil-console"),
        ORIGIN + ":8443",
        ORIGIN + ":443",
        ORIGIN.replace("https", "http"),
        ORIGIN.upper(),
        ORIGIN.replace("console", "Console"),
        ORIGIN + "/",
        ORIGIN + ".",
        ORIGIN.replace("//", "//user@"),
        f"{ORIGIN}, {ORIGIN}",
        ORIGIN.replace(".", "%2e"),
    ],
)
def test_an_origin_that_only_resembles_an_allowed_one_may_not_read(client: httpx.Client, origin: str) -> None:
    for method, path in (
        ("GET", "/shop/orders"),
        ("GET", "/none"),
        ("GET", "/shop/broken"),
        ("OPTIONS", "/shop/orders"),
    ):
        response = client.request(method, path, headers=bearer("read") | {"Origin": origin})
        assert not [name for name in response.headers if name.startswith("access-control-")]
        assert response.headers.get_list("vary") == ["Origin"]


@pytest.mark.parametrize("origins", [("https://evil.example", ORIGIN), (ORIGIN, "https://evil.example")])
def test_two_origins_at_once_may_not_read(client: httpx.Client, origins: tuple[str, str]) -> None:
    response = client.get("/console/health", headers=[("Origin", origin) for origin in origins])
    assert "access-control-allow-origin" not in response.headers


def test_a_compressed_body_is_not_unpacked(client: httpx.Client) -> None:
    bomb = gzip.compress(json.dumps({"a": "x" * 50_000_000}).encode())
    headers = bearer("write") | {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert_problem(client.post("/shop/orders", content=bomb, headers=headers), 415, "unsupported_media_type")


def test_a_body_of_two_mebibytes_is_413(client: httpx.Client) -> None:
    headers = bearer("write") | {"Content-Type": "application/json"}
    response = client.post("/shop/orders", content=b'"' + b"x" * 2 * 1024 * 1024 + b'"', headers=headers)
    assert_problem(response, 413, "body_too_large")


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_400_and_not_a_stack_overflow(client: httpx.Client, open_: str, close: str) -> None:
    headers = bearer("write") | {"Content-Type": "application/json"}
    for depth in (65, 1_000, 100_000):
        content = open_ * depth + "1" + close * depth
        assert_problem(client.post("/shop/orders", content=content, headers=headers), 400, "invalid_json")


def test_a_number_of_a_million_digits_is_400(client: httpx.Client) -> None:
    headers = bearer("write") | {"Content-Type": "application/json"}
    assert_problem(client.post("/shop/orders", content=b"9" * 1_000_000, headers=headers), 400, "invalid_json")


def test_the_host_header_does_not_reach_the_document(client: httpx.Client) -> None:
    response = client.get("/console/openapi.json", headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
    assert "evil.example" not in response.text


# Streamed answers


def test_a_stream_that_fails_before_its_first_part_is_a_problem(client: httpx.Client) -> None:
    response = client.get("/files/broken/0", headers=bearer("read"))
    assert_problem(response, 500, "internal_error")
    assert LEAKED not in response.text
    busy = client.get("/files/busy", headers=bearer("read"))
    assert_problem(busy, 503, "database_busy")
    assert busy.headers["retry-after"] == "5"


@pytest.mark.parametrize("after", [1, 30])
def test_a_stream_that_fails_later_is_cut_and_never_looks_complete(client: httpx.Client, after: int) -> None:
    received = bytearray()

    def receive() -> None:
        with client.stream("GET", f"/files/broken/{after}", headers=bearer("read")) as response:
            assert response.status_code == 200
            assert response.headers["content-type"] == "text/csv"
            assert response.headers["x-content-type-options"] == "nosniff"
            for part in response.iter_raw():
                received.extend(part)

    with pytest.raises(httpx.RemoteProtocolError):
        receive()
    assert LEAKED.encode() not in received
    assert client.get("/console/health").status_code == 200
