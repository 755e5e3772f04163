"""Answers are compressed for clients that accept it, but none that shows a secret or that another site asked for."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from threading import Event
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware

from svc_pg import Config, audit, schema, webhooks
from svc_pg.console import AuthenticatedRequest, Console, ConsoleResponse, Product, ProductEndpoint, register_tenants
from svc_pg.console.http.requests import EncodedResponse
from svc_pg.console.pages.routes import ROUTES
from svc_pg.console.transport.compression import PART_BYTES, compressed
from tests.integration.console.browsing import OWN, signed_in, token
from tests.integration.console.serving import PREFIX, bearer, serving, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, hooks_config
from tests.support.postgres import Prepare

ROWS = 2000
PART = b"x" * 70_000


def config() -> Config:
    made = hooks_config("order.created")
    made.audit.table("public.orders")
    return made


CONFIG = config()


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def filled(conninfo: str) -> None:
        with psycopg.connect(conninfo) as conn:
            conn.execute("create table public.orders (id integer primary key, state text)")
            conn.commit()
            schema.install(conn, CONFIG)
            conn.commit()
            with audit.actor(conn, "ann"):
                conn.execute("insert into orders select n, 'new' from generate_series(1, %s) n", [ROWS])
            conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
            webhooks.endpoints.create(
                conn,
                url="http://127.0.0.1:9/hook?token=hush",
                events=["*"],
                tenant="acme",
                config=CONFIG,
                settings=settings(encryption_keys=SecretStr(KEYS_TEXT)),
            )
            webhooks.send(conn, "order.created", {"text": "x" * 2000}, tenant="acme")

    return filled


ENDED = Event()


async def _streamed(_request: AuthenticatedRequest) -> ConsoleResponse:
    async def parts() -> AsyncIterator[bytes]:
        try:
            yield b"first\n"
            await asyncio.Event().wait()
        finally:
            ENDED.set()

    return ConsoleResponse(200, parts(), {"Content-Type": "text/plain"})


async def _large(_request: AuthenticatedRequest) -> ConsoleResponse:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield PART

    return ConsoleResponse(200, parts(), {"Content-Type": "text/plain"})


async def _broken(_request: AuthenticatedRequest) -> ConsoleResponse:
    async def parts() -> AsyncIterator[bytes]:
        yield PART
        raise RuntimeError("the disk is gone")

    return ConsoleResponse(200, parts(), {"Content-Type": "text/plain"})


async def _silent(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(200, {"secret": "x" * 5000})


async def _tagged(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(200, {"value": "x" * 5000}, {"ETag": '"1"'})


FILES = Product(
    id="files",
    name="Files",
    endpoints=[
        ProductEndpoint(method="GET", path="/streamed", handler=_streamed, is_compressed=True),
        ProductEndpoint(method="GET", path="/large", handler=_large, is_compressed=True),
        ProductEndpoint(method="GET", path="/broken", handler=_broken, is_compressed=True),
        ProductEndpoint(method="GET", path="/tagged", handler=_tagged, is_compressed=True),
        ProductEndpoint(method="POST", path="/tagged", handler=_silent, is_compressed=True),
        ProductEndpoint(method="GET", path="/silent", handler=_silent),
    ],
)


def console(database: str) -> Console:
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
    made = Console(given, config=CONFIG, products=[FILES])
    register_tenants(made)
    return made


@pytest.fixture(scope="module")
def client(shared_database: str) -> Iterator[httpx.Client]:
    with serving_installed(console(shared_database)) as client:
        yield client


def raw(
    client: httpx.Client, path: str, accepted: str | None = "gzip", method: str = "GET", **headers: str
) -> tuple[httpx.Headers, bytes]:
    """The headers and the bytes of an answer as they came."""
    asked = {"Accept-Encoding": accepted} if accepted is not None else {}
    request = client.build_request(method, path, headers={**asked, **headers})
    if accepted is None:
        del request.headers["accept-encoding"]
    answer = client.send(request, stream=True)
    try:
        return answer.headers, b"".join(answer.iter_raw())
    finally:
        answer.close()


def cookie(*, site: str | None = "same-origin") -> dict[str, str]:
    """The headers of a browser with the session of an administrator, for a request that this site makes."""
    return {"Cookie": f"svc_console={token('admin')}"} | ({} if site is None else {"Sec-Fetch-Site": site})


def is_compressed(headers: Mapping[str, str]) -> bool:
    assert "accept-encoding" in headers.get("vary", "").lower() or "content-encoding" not in headers
    return headers.get("content-encoding") == "gzip"


def tail(client: httpx.Client) -> str:
    """The address of the live tail."""
    answer = client.get("/ui/tail", headers=cookie(), follow_redirects=False)
    return str(answer.headers["location"]).removeprefix(PREFIX)


def test_the_live_tail_takes_a_tenth_of_its_bytes(client: httpx.Client) -> None:
    path = tail(client)
    _, plain = raw(client, path, "identity", **cookie())
    headers, small = raw(client, path, **cookie())
    assert is_compressed(headers)
    assert len(plain) < 100 * 1024
    assert gzip.decompress(small).count(b"<tr") == plain.count(b"<tr") == 61
    assert len(small) < len(plain) / 10


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.8", True),
        ("x-gzip", True),
        ("*", True),
        ("*;q=0.1, identity;q=0", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("gzip;q=0.2, identity;q=0.5", False),
        ("gzip;q=nonsense", False),
        ("identity", False),
        ("br, deflate", False),
        ("notgzip", False),
        ("", False),
        (None, False),
    ],
)
def test_only_clients_that_accept_it_get_gzip(client: httpx.Client, accepted: str | None, *, expected: bool) -> None:
    for path, headers in (("/audit/entries", bearer("read")), ("/ui/audit", cookie()), ("/ui/static/console.css", {})):
        answered, content = raw(client, path, accepted, **headers)
        assert is_compressed(answered) == expected, path
        assert "Accept-Encoding" in answered["vary"]
        assert int(answered.get("content-length", len(content))) == len(content)


def test_lists_exports_and_static_files_are_the_same_after_decompression(client: httpx.Client) -> None:
    for path in ("/audit/entries?limit=1000", "/audit/export?format=ndjson", "/console/openapi.json"):
        _, plain = raw(client, path, "identity", **bearer("admin"))
        headers, small = raw(client, path, **bearer("admin"))
        assert is_compressed(headers), path
        assert gzip.decompress(small) == plain
        assert len(small) < len(plain) / 4
    for name in ("console.css", "console.js", "icons.svg"):
        plain, small = (raw(client, f"/ui/static/{name}", each)[1] for each in ("identity", "gzip"))
        assert gzip.decompress(small) == plain
    assert len(raw(client, "/audit/export", **bearer("admin"))[1].splitlines()) > 1


def test_another_site_cannot_make_a_browser_ask_for_what_is_compressed(client: httpx.Client) -> None:
    for site, expected in (("same-origin", True), ("none", True), ("same-site", False), (None, False)):
        assert is_compressed(raw(client, "/ui/audit?actor=guess", **cookie(site=site))[0]) == expected, site
    for extra, expected in (({"Sec-Fetch-Site": "cross-site"}, False), ({}, True)):
        headers, _ = raw(client, "/audit/entries?limit=50", **bearer("read"), **extra)
        assert is_compressed(headers) == expected
    basic = cookie(site=None) | {"Authorization": "Basic YTpi"}  # which browsers add to whatever they are made to ask
    assert not is_compressed(raw(client, "/ui/audit?actor=guess", **basic)[0])


def test_no_answer_that_is_made_to_show_a_secret_is_compressed(client: httpx.Client) -> None:
    admin = bearer("admin")
    deliveries = client.get("/webhooks/deliveries", headers=admin).json()["data"]
    endpoints = client.get("/webhooks/endpoints", headers=admin).json()["data"]
    for path in (
        "/webhooks/endpoints",
        f"/webhooks/endpoints/{endpoints[0]['id']}",
        f"/webhooks/deliveries/{deliveries[0]['id']}/request",
        "/files/silent",
    ):
        assert not is_compressed(raw(client, path, **admin)[0]), path
    for body in ({"tenant": "acme"}, {"tenant": "acme", "expiresIn": 900}):
        answer = client.post("/webhooks/portal-sessions", json=body, headers=admin)
        assert not is_compressed(answer.headers)
    browser = signed_in(client, "admin")
    for address, fields in (
        ("/tokens", {"name": "nightly", "permission": "read", "days": "7"}),
        ("/portal-links", {"tenant": "acme", "lasts": "900"}),
        (f"/endpoints/{endpoints[0]['id']}/rotate", {"overlap": "0", "version": str(endpoints[0]["version"])}),
    ):
        shown = browser.post(address, fields)
        assert 'id="secret"' in shown.text
        assert not is_compressed(shown.headers), address
        assert not is_compressed(browser.ask("GET", shown.url.path, **OWN).headers)
    for path in (f"/ui/deliveries/{deliveries[0]['id']}", f"/ui/endpoints/{endpoints[0]['id']}", "/ui/tokens/new"):
        assert not is_compressed(raw(client, path, **cookie())[0]), path
    for path in (f"/ui/sign-in/link?token={'x' * 2000}", f"/ui/portal/enter?token={'x' * 2000}", "/ui/sign-in"):
        assert not is_compressed(raw(client, path, **cookie())[0]), path


def test_the_pages_that_are_compressed_are_these() -> None:
    """Whoever adds one makes sure that it shows no secret beside what somebody else has written."""
    assert {each.path for each in ROUTES if each.is_compressed} == {
        *(
            "/overview",
            "/coverage",
            "/audit",
            "/tail",
            "/audit/offers",
            "/audit/export",
            "/audit/entries/:id",
            "/audit/entries/:id/proof",
            "/audit/entries/:id/erasure",
            "/audit/transactions/:id",
        ),
        *("/audit/records/:table/:id/tracks", "/audit/records/:table/:id/related"),
        "/audit/records/:table/:id/certificate",
        *("/audit/records/:table/:id", "/audit/records/:table/:id/as-of", "/deliveries", "/events", "/events/:name"),
        *("/messages", "/tenants", "/sessions", "/tokens", "/activity", "/activity/changes", "/system"),
    }


def test_the_length_of_an_answer_is_blurred(client: httpx.Client) -> None:
    path = "/audit/entries?limit=50"
    content = {raw(client, path, **bearer("read"))[1] for _ in range(30)}
    assert len({len(each) for each in content}) > 3
    assert len({gzip.decompress(each) for each in content}) == 1


def test_short_answers_changes_problems_and_tagged_ones_are_sent_as_they_are(client: httpx.Client) -> None:
    for path in ("/audit/holds", "/files/tagged", "/audit/entries/nonsense", "/console/health"):
        headers, _ = raw(client, path, **bearer("admin"))
        assert not is_compressed(headers), path
    assert not is_compressed(raw(client, "/files/tagged", method="POST", **bearer("admin"))[0])
    assert raw(client, "/files/tagged", **bearer("admin"))[0]["etag"] == '"1"'


def test_head_has_the_headers_of_get_and_no_body(client: httpx.Client) -> None:
    for path in ("/ui/audit", "/ui/static/console.css"):
        headers, content = raw(client, path, method="HEAD", **cookie())
        assert (is_compressed(headers), content) == (True, b"")


def test_a_range_is_answered_whole(client: httpx.Client) -> None:
    headers, content = raw(client, "/ui/static/console.css", Range="bytes=0-9")
    assert (is_compressed(headers), "content-range" in headers) == (True, False)
    assert len(gzip.decompress(content)) > 10


def test_what_is_made_as_it_is_sent_arrives_part_by_part(client: httpx.Client) -> None:
    headers = {"Accept-Encoding": "gzip", **bearer("read")}
    with client.stream("GET", "/files/streamed", headers=headers) as answer:
        assert is_compressed(answer.headers)
        unpacker, found = zlib.decompressobj(16 + zlib.MAX_WBITS), b""
        for part in answer.iter_raw():
            found += unpacker.decompress(part)
            if found:
                break
        assert found == b"first\n"
    assert ENDED.wait(20)  # the client has cut it off, and nothing is made any more


def test_a_large_stream_is_whole_and_one_that_breaks_off_has_no_end(client: httpx.Client) -> None:
    headers, content = raw(client, "/files/large", **bearer("read"))
    assert "content-length" not in headers
    assert gzip.decompress(content) == PART * 40
    with pytest.raises(httpx.RemoteProtocolError):
        raw(client, "/files/broken", **bearer("read"))


def test_an_answer_that_compresses_to_nothing_leaves_others_their_turn() -> None:
    turns = 0
    answer = EncodedResponse(200, b" " * (100 * PART_BYTES), MutableHeaders(), compression="always")

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def sent() -> list[bytes]:
        counting = asyncio.create_task(count())
        content = compressed(answer, Headers({"accept-encoding": "gzip"})).content
        assert isinstance(content, AsyncIterator)
        try:
            return [part async for part in content]
        finally:
            counting.cancel()

    parts = asyncio.run(sent())
    assert (len(parts) < 20, turns > 80) == (True, True)
    assert gzip.decompress(b"".join(parts)) == answer.content


def test_the_stream_of_changes_is_not_compressed(client: httpx.Client) -> None:
    with client.stream("GET", "/account/changes", headers={"Accept-Encoding": "gzip", **bearer("read")}) as answer:
        assert not is_compressed(answer.headers)
        assert b"retry:" in next(answer.iter_raw())


def mounted(made: Console, *, is_outside: bool) -> Any:
    """An application that compresses its own answers, with the console before its middleware or behind it."""
    app = FastAPI(lifespan=made.lifespan)

    @app.get("/own")
    def own() -> str:
        return "x" * 5000

    if is_outside:
        made.install(app)
    app.add_middleware(GZipMiddleware)
    if not is_outside:
        made.install(app)
    return app


@pytest.mark.parametrize("is_outside", [False, True], ids=["as documented", "middleware around the console"])
def test_an_application_that_compresses_too_does_not_do_it_twice(database: str, *, is_outside: bool) -> None:
    with serving(mounted(console(database), is_outside=is_outside)) as url, httpx.Client(base_url=url) as client:
        assert is_compressed(raw(client, "/own")[0])
        for path in (f"{PREFIX}/audit/entries?limit=1000", f"{PREFIX}/audit/export"):
            headers, content = raw(client, path, **bearer("admin"))
            assert headers.get_list("content-encoding") == ["gzip"]
            assert b'"orders"' in gzip.decompress(content) or b"public.orders" in gzip.decompress(content)
        secret = raw(client, f"{PREFIX}/files/silent", **bearer("admin"))[0]
        assert is_compressed(secret) == is_outside
