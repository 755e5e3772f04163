import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from svc_pg import Config, schema
from svc_pg.console import Console, Product, ProductEndpoint
from svc_pg.errors import ConfigError, ConsoleAutoApproveInProductionError, ConsoleWeakSecretError
from tests.integration.console.serving import (
    KEY,
    ORIGIN,
    PREFIX,
    bearer,
    new_console,
    raw_request,
    serving,
    settings,
    shop,
)
from tests.support.roles import new_role

HOST_ORIGIN = "https://host.example"


async def from_host(request: Request) -> Response:
    return PlainTextResponse(f"host {request.url.path}")


def fastapi_with_cors() -> ASGIApp:
    console = new_console()
    app = FastAPI(lifespan=console.lifespan, openapi_url=None)
    app.add_middleware(CORSMiddleware, allow_origins=[HOST_ORIGIN])
    app.add_route("/{path:path}", from_host)
    console.install(app)
    return app


def bare_starlette() -> ASGIApp:
    console = new_console()
    app = Starlette(routes=[Route("/{path:path}", from_host)], lifespan=console.lifespan)
    console.install(app)
    return app


def mounted_application() -> ASGIApp:
    console = new_console()
    inner = Starlette(routes=[Route("/{path:path}", from_host)])
    console.install(inner)
    return Starlette(routes=[Mount("/inner app", inner)], lifespan=console.lifespan)


@pytest.fixture(
    scope="module",
    params=[
        (fastapi_with_cors, "", ""),
        (bare_starlette, "", ""),
        (fastapi_with_cors, "/behind/proxy", ""),
        (mounted_application, "", "/inner%20app"),
        (mounted_application, "/behind/proxy", "/inner%20app"),
    ],
    ids=["fastapi", "starlette", "root_path", "mounted", "mounted-root_path"],
)
def base_url(request: pytest.FixtureRequest) -> Iterator[str]:
    make_app, root_path, below = request.param
    with serving(make_app(), root_path=root_path) as url:
        yield url + below


def get(base_url: str, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    server, _, below = base_url.removeprefix("http://").partition("/")
    return raw_request(f"http://{server}", method, f"/{below}{path}" if below else path, **headers)


@pytest.mark.parametrize(
    "path", ["/", "/x", PREFIX, PREFIX + "x/console/health", "/.well-known/other", "/.well-known%2Fsvc/console/health"]
)
def test_what_is_not_below_the_prefix_belongs_to_the_host(base_url: str, path: str) -> None:
    status, headers, body = get(base_url, path)
    assert (status, body[:5]) == (200, b"host ")
    assert "x-request-id" not in headers


@pytest.mark.parametrize("path", ["/console/health", "/console/health?x=1", "/console/health?"])
def test_what_is_below_the_prefix_belongs_to_the_console(base_url: str, path: str) -> None:
    assert get(base_url, PREFIX + path)[0] == 200
    assert get(base_url, "/%2ewell-known/svc" + path)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "//console/health",
        "/console//health",
        "/console/health/",
        "/console%2Fhealth",
        "/console/health%00",
        "/console/health%0A",
        "/shop/%2e%2e/console/health",
        "/../x",
        "/%2e%2e/%2e%2e/x",
        "/%",
        PREFIX + "/console/health",
    ],
)
def test_paths_below_the_prefix_are_never_normalised_redirected_or_passed_on(base_url: str, path: str) -> None:
    status, headers, body = get(base_url, PREFIX + path)
    assert (status, json.loads(body)["code"]) == (404, "not_found")
    assert headers["vary"] == "Origin"


@pytest.mark.parametrize(
    ("segment", "value"),
    [("a%2Fb", "a/b"), ("%2e%2e", ".."), ("a%20b", "a b"), ("a+b", "a+b"), ("%C3%A9", "é"), ("a%252Fb", "a%2Fb")],
)
def test_an_encoded_segment_reaches_the_handler_as_one_value(base_url: str, segment: str, value: str) -> None:
    status, _, body = get(base_url, f"{PREFIX}/shop/orders/{segment}", **bearer("read"))
    assert status == 200
    assert json.loads(body)["params"] == {"id": value}
    assert json.loads(body)["path"] == f"/shop/orders/{segment}"


def test_the_console_answers_preflights_itself(base_url: str) -> None:
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "DELETE"}
    for path in ("/console/health", "/none", "/"):
        status, answer, _ = get(base_url, PREFIX + path, "OPTIONS", **headers)
        assert (status, answer["access-control-allow-origin"]) == (204, ORIGIN)


def test_the_hosts_own_origin_may_not_read_the_console() -> None:
    with (
        serving(fastapi_with_cors()) as url,
        httpx.Client(base_url=url, headers={"Origin": HOST_ORIGIN}) as client,
    ):
        assert client.get("/x").headers["access-control-allow-origin"] == HOST_ORIGIN
        for response in (client.get(PREFIX + "/console/health"), client.get(PREFIX + "/none")):
            assert "access-control-allow-origin" not in response.headers
            assert response.headers.get_list("vary") == ["Origin"]


def test_alone_the_console_answers_404_to_everything_else() -> None:
    with serving(new_console().asgi) as url, httpx.Client(base_url=url) as client:
        assert client.get(PREFIX + "/console/health").status_code == 200
        for path in ("/", PREFIX, "/x"):
            assert client.get(path).status_code == 404


def test_a_lower_body_limit_of_the_application_is_413() -> None:
    console = new_console()
    app = FastAPI(lifespan=console.lifespan, max_body_size=100)
    console.install(app)
    with serving(app) as url:
        json = bearer("write") | {"Content-Type": "application/json"}
        response = httpx.post(f"{url}{PREFIX}/shop/orders", content=iter([b'"', b"x" * 100, b'"']), headers=json)
    assert response.status_code == 413


def test_two_consoles_in_one_process_keep_their_products_apart() -> None:
    first, second = new_console(), Console(settings())
    with serving(first.asgi) as one, serving(second.asgi) as two:
        assert "shop" in httpx.get(f"{one}{PREFIX}/console/capabilities").json()["products"]
        assert "shop" not in httpx.get(f"{two}{PREFIX}/console/capabilities").json()["products"]


# The database


def test_a_pool_that_gives_no_connection_is_503() -> None:
    console = Console(settings(), pool=AsyncConnectionPool(open=False))
    with serving(console.asgi) as url:
        response = httpx.get(f"{url}{PREFIX}/audit/entries", headers=bearer("read"))
    assert response.status_code == 503
    assert response.json()["code"] == "database_unavailable"
    assert response.headers["retry-after"] == "5"


def test_a_console_whose_lifespan_does_not_run_is_503() -> None:
    console = new_console()
    app = FastAPI()
    console.install(app)
    with serving(app) as url:
        response = httpx.get(f"{url}{PREFIX}/audit/entries", headers=bearer("read"))
    assert (response.status_code, response.json()["code"]) == (503, "database_unavailable")


def test_the_lifespan_composes_and_runs_more_than_once(postgres: str) -> None:
    console = new_console(database_url=postgres)
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        async with console.lifespan(), console.connection() as conn:
            cursor = await conn.execute("show statement_timeout")
            events.append(str(await cursor.fetchone()))
            yield

    async def run_twice() -> None:
        for _ in range(2):
            async with lifespan(None):
                pass

    asyncio.run(run_twice())
    assert events == ["('5s',)", "('5s',)"]


def test_a_pool_of_the_application_stays_open_and_unchanged(postgres: str) -> None:
    async def timeout_after_a_console_connection() -> object:
        async with AsyncConnectionPool[Any](postgres, min_size=1, max_size=1, open=False) as pool:
            console = Console(settings(), pool=pool)
            async with console.lifespan(), console.connection() as conn:
                await conn.execute("select 1")
            assert not pool.closed
            async with pool.connection() as conn:
                return await (await conn.execute("show statement_timeout")).fetchone()

    assert asyncio.run(timeout_after_a_console_connection()) == ("0",)


def test_a_database_without_the_schema_is_503_with_the_remedy(empty_database: str) -> None:
    with serving(new_console(database_url=empty_database).asgi) as url:
        response = httpx.get(f"{url}{PREFIX}/audit/entries", headers=bearer("read"))
    assert (response.status_code, response.json()["code"]) == (503, "not_installed")
    assert "svc-pg install" in response.json()["detail"]


def test_a_console_beside_functions_of_another_version_is_503_with_the_remedy(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn:
        schema.install(conn, Config())
        conn.execute("alter table svc.webhook_endpoints rename description to title")
    with serving(new_console(database_url=empty_database).asgi) as url:
        response = httpx.get(f"{url}{PREFIX}/webhooks/endpoints", headers=bearer("read"))
    assert (response.status_code, response.json()["code"]) == (503, "not_installed")
    assert response.json()["detail"].startswith("The database has another version of svc-pg. Run the newer version's")


def test_a_database_whose_schema_is_closed_to_the_console_is_503_with_the_remedy(
    postgres: str, shared_database: str
) -> None:
    with (
        new_role(postgres) as role,
        serving(new_console(database_url=make_conninfo(shared_database, user=role)).asgi) as url,
    ):
        response = httpx.get(f"{url}{PREFIX}/audit/entries", headers=bearer("read"))
    assert (response.status_code, response.json()["code"]) == (503, "access_denied")
    assert "svc_admin" in response.json()["detail"]


# Start-up


def test_auto_approve_in_production_is_refused() -> None:
    with pytest.raises(ConsoleAutoApproveInProductionError):
        Console(settings(env="production"))


def test_a_weak_secret_in_production_is_refused() -> None:
    weak = settings(env="production", console_auto_approve=False, console_connection_token_hash="sha256:abc")
    with pytest.raises(ConsoleWeakSecretError):
        Console(weak)


def test_a_console_that_nobody_can_sign_in_to_is_refused() -> None:
    with pytest.raises(ConfigError, match="nobody could sign in"):
        Console(settings(console_auto_approve=False))


def test_a_console_without_a_secret_is_refused() -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_CONNECTION_TOKEN_HASH"):
        Console(settings(console_connection_token_hash=None))


def test_a_wrong_origin_is_refused() -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_ALLOWED_ORIGINS"):
        Console(settings(console_allowed_origins=["*"]))


@pytest.mark.parametrize("id_", ["shop", "audit", "webhooks"])
def test_a_product_is_registered_once(id_: str) -> None:
    console = new_console()
    with pytest.raises(ConfigError, match="registered already"):
        console.register_product(Product(id=id_, name="Again", endpoints=[]))


@pytest.mark.parametrize("id_", ["console", "ui", "account"])
def test_an_id_of_the_console_itself_is_no_products(id_: str) -> None:
    console = new_console()
    with pytest.raises(ConfigError, match="reserved"):
        console.register_product(Product(id=id_, name="Mine", endpoints=[]))


def test_a_product_with_two_equal_routes_is_refused() -> None:
    endpoint = ProductEndpoint(method="GET", path="/x/:a", handler=shop().endpoints[0].handler)
    same = ProductEndpoint(method="GET", path="x/:b", handler=endpoint.handler)
    with pytest.raises(ConfigError, match="there already"):
        new_console(Product(id="twice", name="Twice", endpoints=[endpoint, same]))


def test_no_error_at_start_up_shows_the_secret() -> None:
    for overrides in ({"env": "production"}, {"console_auto_approve": False}, {"console_allowed_origins": ["*"]}):
        with pytest.raises(ConfigError) as refusal:
            Console(settings(**overrides))
        assert KEY.decode() not in f"{refusal.value} {refusal.value.hint}"
