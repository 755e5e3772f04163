"""The console beside Django, Flask and Litestar, as docs/applications.md shows it, and around lifespans that fail."""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from shutil import which
from types import ModuleType
from typing import Any

import httpx
import pytest
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import re_path
from flask import Flask, request
from litestar import Litestar, route
from litestar import Request as LitestarRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc_pg.console import Console
from tests.integration.actor import django_shop
from tests.integration.console.serving import KEY, PREFIX, bearer, new_console, raw_request, serving, settings
from tests.support.documents import examples
from tests.support.ports import free_port
from tests.support.waiting import wait_until

LARGE = b"x" * (1 << 20)
METHODS = ["GET", "POST"]


def django_site(stack: ExitStack, names: dict[str, Any]) -> None:
    def host(request: HttpRequest, **_: str) -> HttpResponse:
        return HttpResponse(f"host {request.path} {len(request.body)}")

    django_shop.use("host=127.0.0.1 port=9 user=nobody dbname=none")
    urls: Any = ModuleType("urls")
    urls.urlpatterns = [re_path("", host)]
    stack.enter_context(override_settings(ROOT_URLCONF=urls, MIDDLEWARE=[], DATA_UPLOAD_MAX_MEMORY_SIZE=None))
    names["get_asgi_application"] = get_asgi_application


def flask_site(_stack: ExitStack, names: dict[str, Any]) -> None:
    names["app"] = app = Flask("site")

    def host(path: str = "") -> str:
        return f"host /{path} {len(request.get_data())}"

    app.add_url_rule("/", view_func=host, methods=METHODS)
    app.add_url_rule("/<path:path>", view_func=host, methods=METHODS)


SITES = {"Django": django_site, "Flask": flask_site}


@pytest.fixture(scope="module", params=SITES)
def site(request: pytest.FixtureRequest, shared_database: str) -> Iterator[str]:
    """The documented application, served by uvicorn."""
    [example] = examples("applications.md", f"The console beside {request.param}")
    variables = {
        "DATABASE_URL": shared_database,
        "SVC_ENV": "test",
        "SVC_CONSOLE_AUTO_APPROVE": "true",
        "SVC_CONSOLE_CONNECTION_TOKEN_HASH": f"sha256:{KEY.decode()}",
    }
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in variables.items():
            patch.setenv(name, value)
        names: dict[str, Any] = {"__name__": "site"}
        SITES[request.param](stack, names)
        exec(example, names)
        yield stack.enter_context(serving(names["application"]))


def test_the_console_has_its_prefix_and_its_database(site: str) -> None:
    with httpx.Client(base_url=site + PREFIX) as client:
        assert client.get("/console/ready").status_code == 200
        assert client.get("/audit/entries", headers=bearer("read")).status_code == 200
        assert client.get("/audit/entries").status_code == 401
        assert client.get("/none").json()["code"] == "not_found"
    assert raw_request(site, "GET", f"{PREFIX}/audit/records/a%2Fb/1", **bearer("read"))[0] in (200, 404)


@pytest.mark.parametrize("path", ["/", "/x/y", PREFIX, PREFIX + "x/console/health", "/.well-known/other"])
def test_everything_else_is_the_applications(site: str, path: str) -> None:
    with httpx.Client(base_url=site) as client:
        assert client.get(path).text == f"host {path} 0"
        assert client.post(path, content=LARGE).text == f"host {path} {len(LARGE)}"


# svc-pg serve, behind a path of the application's proxy


NGINX = """
daemon off; master_process off; pid %(folder)s/pid; error_log stderr crit;
events {}
http {
    access_log off; client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy;
    fastcgi_temp_path %(folder)s/f; uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s;
    server {
        listen 127.0.0.1:%(port)s;
        location / { return 200 "host"; }
        %(documented)s
    }
}
"""


@contextmanager
def documented_nginx(upstream: str, folder: Path) -> Iterator[str]:
    program = which("nginx")
    if program is None:
        pytest.skip("nginx is not installed")
    [documented] = examples("applications.md", "The console beside Flask", "nginx")
    assert "http://127.0.0.1:8000;" in documented
    port = free_port()
    file = folder / "nginx.conf"
    file.write_text(
        NGINX % {"folder": folder, "port": port, "documented": documented.replace("http://127.0.0.1:8000", upstream)}
    )
    process = subprocess.Popen([program, "-c", file, "-p", folder])
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: answers(url), "nginx listens")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=10)


def test_both_pages_with_a_proxy_give_it_the_same_location() -> None:
    [beside], [first_day] = (
        examples("applications.md", "The console beside Flask", "nginx"),
        examples("howto/first-day.md", "Start the console behind a proxy", "nginx"),
    )

    def directives(text: str) -> list[str]:
        return [line for line in (re.sub("#.*", "", each).strip() for each in text.splitlines()) if line]

    lines = directives(first_day)
    assert lines[lines.index("location /.well-known/svc/ {") :] == [*directives(beside), "}"]


def answers(url: str) -> bool:
    try:
        return httpx.get(url).text == "host"
    except httpx.TransportError:
        return False


@contextmanager
def small_proxy(upstream: str, _folder: Path) -> Iterator[str]:
    """Does what the documented lines of nginx do: the path as it came, the host of the client, and its address."""

    async def forward(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if not scope["path"].startswith(f"{PREFIX}/"):
            await PlainTextResponse("host")(scope, receive, send)
            return
        asked = Request(scope, receive)
        headers = {**asked.headers, "x-forwarded-for": scope["client"][0]}
        target = httpx.URL(upstream, raw_path=scope["raw_path"] + b"?" + scope["query_string"])
        async with httpx.AsyncClient() as client:
            found = await client.request(asked.method, target, headers=headers, content=await asked.body())
        answer = Response(found.content, found.status_code)
        answer.raw_headers = found.headers.raw  # of which there may be two of a name
        await answer(scope, receive, send)

    with serving(forward) as url:
        yield url


@pytest.mark.parametrize("proxy", [documented_nginx, small_proxy])
def test_a_console_of_its_own_is_served_below_the_path_of_a_proxy(
    shared_database: str, tmp_path: Path, proxy: Callable[[str, Path], AbstractContextManager[str]]
) -> None:
    console = Console(settings(database_url=shared_database, console_trusted_proxies=["127.0.0.1"]))
    with (
        serving(console.asgi) as upstream,
        proxy(upstream, tmp_path) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert client.get("/").text == "host"
        assert client.get(f"{PREFIX}/audit/entries", headers=bearer("read")).status_code == 200
        assert raw_request(url, "GET", f"{PREFIX}/audit/records/public.t/a%2Fb", **bearer("read"))[0] == 200
        form = f"{PREFIX}/ui/sign-in"
        assert client.get(form).status_code == 200
        own, foreign = ({"Origin": origin} for origin in (url, "https://evil.example"))
        assert client.post(form, headers=foreign).status_code == 403
        assert client.post(form, headers=own).status_code == 303
        assert client.get(f"{PREFIX}/ui/sessions").status_code == 200


def test_the_console_lives_around_the_lifespan_of_another_application(shared_database: str) -> None:
    console = Console(settings(database_url=shared_database))
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        async with console.connection() as conn:  # the console is there before, and still there after
            await conn.execute("select 1")
        events.append("began")
        yield
        async with console.connection() as conn:
            await conn.execute("select 1")
        events.append("ended")

    @route(["/", "/{path:path}"], http_method=["GET"])
    async def host(request: LitestarRequest[Any, Any, Any]) -> str:
        return f"host {request.url.path}"

    app: Any = Litestar([host], lifespan=[lifespan])
    with serving(console.wrap(app)) as url:
        assert httpx.get(f"{url}{PREFIX}/console/ready").status_code == 200
        assert httpx.get(f"{url}/x").text == "host /x"
    assert events == ["began", "ended"]


# A server's messages, one by one


class Server:
    """Speaks the lifespan protocol to an application (ASGI)."""

    def __init__(self) -> None:
        self.answers: list[Message] = []

    async def live(self, app: ASGIApp) -> None:
        told: asyncio.Queue[Message] = asyncio.Queue()

        async def send(message: Message) -> None:
            self.answers.append(message)
            await told.put({"type": "lifespan.shutdown"})

        await told.put({"type": "lifespan.startup"})
        async with asyncio.timeout(10):
            await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, told.get, send)

    @property
    def types(self) -> list[str]:
        return [answer["type"] for answer in self.answers]


def lived(app: ASGIApp) -> Server:
    server = Server()
    asyncio.run(server.live(app))
    return server


@asynccontextmanager
async def failing(_app: object) -> AsyncIterator[None]:
    raise ZeroDivisionError("the application cannot start")
    yield


@asynccontextmanager
async def failing_at_the_end(_app: object) -> AsyncIterator[None]:
    yield
    raise ZeroDivisionError("the application cannot end")


async def without_lifespan(scope: Scope, _receive: Receive, _send: Send) -> None:
    raise ValueError(scope["type"])


async def returning_at_once(_scope: Scope, _receive: Receive, _send: Send) -> None:
    return


async def returning_when_started(_scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})


async def never_ending(_scope: Scope, receive: Receive, send: Send) -> None:
    await returning_when_started(_scope, receive, send)
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "app", [without_lifespan, returning_at_once, returning_when_started, never_ending, Starlette()]
)
def test_applications_live_and_end_whatever_lifespan_they_have(app: ASGIApp) -> None:
    assert lived(new_console().wrap(app)).types == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.mark.parametrize(
    ("lifespan", "types", "reason"),
    [
        (failing, ["lifespan.startup.failed"], "cannot start"),
        (failing_at_the_end, ["lifespan.startup.complete", "lifespan.shutdown.failed"], "cannot end"),
    ],
)
def test_an_application_that_fails_is_a_failure_of_the_whole(lifespan: Any, types: list[str], reason: str) -> None:
    server = Server()
    with pytest.raises(RuntimeError, match=reason):
        asyncio.run(server.live(new_console().wrap(Starlette(lifespan=lifespan))))
    assert server.types == types
    assert reason in server.answers[-1]["message"]
