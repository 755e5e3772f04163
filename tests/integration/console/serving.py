"""A console with a product of its own, served by uvicorn on a free port of the loopback interface."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import timedelta
from http.client import HTTPConnection
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr
from starlette.types import ASGIApp

from svc_pg.console import AuthenticatedRequest, Console, ConsoleResponse, Problem, Product, ProductEndpoint
from svc_pg.console.http import tokens
from svc_pg.settings import Permission, Settings
from tests.support.http_clients import client_for_threads
from tests.support.waiting import wait_until

PREFIX = "/.well-known/svc"
ORIGIN = "https://console.example"
KEY = b"c0ffee" * 8
LEAKED = "hunter2-hunter2"


@contextmanager
def serving(app: ASGIApp, **options: Any) -> Iterator[str]:
    """Serve the application and give its base URL, without a slash at the end."""
    patient: dict[str, Any] = {"timeout_keep_alive": 120}  # or it may close a connection as a client takes it again
    config = uvicorn.Config(app, port=0, log_level="warning", lifespan="on", ws="none", **patient | options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), "the server listens")
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving_installed(console: Console) -> Iterator[httpx.Client]:
    """Serve a FastAPI application with the console in it, and give a client whose base URL is the console's."""
    app = FastAPI(lifespan=console.lifespan)
    console.install(app)
    with serving(app) as base_url, client_for_threads(base_url + PREFIX, timeout=30) as client:
        yield client


@contextmanager
def serving_with_pool(console: Console, pool: AsyncConnectionPool[Any]) -> Iterator[httpx.Client]:
    """As ``serving_installed``, in an application with a pool of its own."""

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(lifespan=lifespan)
    console.install(app)
    with serving(app) as base_url, client_for_threads(base_url + PREFIX, timeout=30) as client:
        yield client


def assert_problem(response: httpx.Response, status: int, code: str) -> None:
    """Assert that the response is a problem document, with its request's id."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert (document["status"], document["code"]) == (status, code)
    assert document["requestId"] == response.headers["x-request-id"]
    assert document["title"]


def raw_request(base_url: str, method: str, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Send a request target unchanged; other clients normalise ``//`` and ``%2e%2e`` away."""
    with closing(HTTPConnection(base_url.removeprefix("http://"), timeout=60)) as connection:
        connection.request(method, target, headers=headers)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


def settings(**overrides: object) -> Settings:
    return Settings.load(
        **{
            "env": "test",
            "console_auto_approve": True,
            "console_connection_token_hash": SecretStr(f"sha256:{KEY.decode()}"),
            "console_allowed_origins": [ORIGIN],
            **overrides,
        }
    )


def bearer(*permissions: Permission, lifetime: timedelta = timedelta(minutes=5), key: bytes = KEY) -> dict[str, str]:
    """The header that carries a session with these permissions."""
    token = tokens.issue(
        key, email="ann@corp.example", permissions=permissions, lifetime=lifetime, method="auto_approve"
    )
    return {"Authorization": f"Bearer {token}"}


def new_console(*products: Product, **overrides: object) -> Console:
    return Console(settings(**overrides), products=[shop(), *products])


def shop() -> Product:
    """A product with a route for each ability of a handler."""
    return Product(
        id="shop",
        name="Shop",
        endpoints=[
            ProductEndpoint(method="GET", path="/orders", handler=_orders),
            ProductEndpoint(method="GET", path="/orders/:id", handler=_echo),
            ProductEndpoint(method="GET", path="/blocking", handler=_blocking),
            ProductEndpoint(method="POST", path="/orders", handler=_echo, required_permission="write"),
            ProductEndpoint(method="DELETE", path="/orders", handler=_delete, required_permission="admin"),
            ProductEndpoint(method="GET", path="/broken", handler=_broken),
            ProductEndpoint(method="GET", path="/unwritable", handler=_unwritable),
            ProductEndpoint(method="GET", path="/sold-out", handler=_sold_out),
            ProductEndpoint(method="GET", path="/odd-problem", handler=_odd_problem),
        ],
    )


async def _orders(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(200, {"data": [], "nextCursor": None}, {"X-Total": "0", "Cache-Control": "public"})


async def _echo(request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(
        200,
        {
            "params": request.params,
            "query": dict(request.query),
            "body": request.body,
            "email": request.session.email,
            "permissions": request.session.permissions,
            "path": request.path,
        },
    )


def _blocking(_request: AuthenticatedRequest) -> ConsoleResponse:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return ConsoleResponse(200, {"blocksTheLoop": False})
    return ConsoleResponse(200, {"blocksTheLoop": True})


async def _delete(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(204)


async def _broken(_request: AuthenticatedRequest) -> ConsoleResponse:
    raise RuntimeError(f"cannot log in with {LEAKED}")


async def _unwritable(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(200, {"value": object()})


async def _sold_out(_request: AuthenticatedRequest) -> ConsoleResponse:
    raise Problem(409, "sold_out", "Nothing is left.", orders_left=0)


async def _odd_problem(_request: AuthenticatedRequest) -> ConsoleResponse:
    raise Problem(799, "odd")
