"""One session may ask for much, and read it slowly: the application and the other sessions go on."""

import asyncio
import io
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from psycopg_pool import AsyncConnectionPool

from svc_pg import audit
from svc_pg.audit.exports.export_pages import PART_BYTES, export_pages
from svc_pg.audit.exports.exporting import export
from svc_pg.console import AuthenticatedRequest, Console, ConsoleResponse, Product, ProductEndpoint, adapter
from svc_pg.console.database import pool as database_module
from svc_pg.console.http.parameters import PAGE_BYTES
from svc_pg.console.transport import concurrency_limit
from tests.integration.console.browsing import OWN, signed_in
from tests.integration.console.serving import (
    PREFIX,
    assert_problem,
    bearer,
    serving,
    serving_installed,
    serving_with_pool,
    settings,
)
from tests.support.http_clients import client_for_threads
from tests.support.postgres import new_database
from tests.support.waiting import wait_until

MIB = 1024 * 1024
LARGE = 9


@pytest.fixture(scope="module")
def filled(postgres: str, template: str) -> Iterator[str]:
    """A database with entries of 1 MiB, small ones, and some of which each is larger than a page."""
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            for table, count, size in (("large", LARGE, MIB), ("small", 150, 10), ("huge", 2, 6 * MIB)):
                conn.execute(
                    "insert into svc.audit_logs (table_name, table_oid, operation, record_id, after_data)"
                    " select %s, 0, 'INSERT', n::text, jsonb_build_object('body', repeat('x', %s))"
                    " from generate_series(1, %s) n",
                    [f"public.{table}", size, count],
                )
        yield conninfo


@pytest.fixture(scope="module")
def client(filled: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=filled))) as client:
        client.headers.update(bearer("write"))
        yield client


def pages(client: httpx.Client, **query: str) -> Iterator[httpx.Response]:
    """The pages of a list, each by the cursor of the one before."""
    cursor: str | None = ""
    while cursor is not None:
        response = client.get("/audit/entries", params=query | ({"cursor": cursor} if cursor else {}))
        yield response
        cursor = response.json()["nextCursor"]


# Bytes of pages and exports


def test_a_page_ends_at_a_few_mebibytes_with_a_cursor(client: httpx.Client) -> None:
    found = []
    for page in pages(client, resource="large", limit="1000"):
        assert len(page.content) < PAGE_BYTES + 100_000
        found += [entry["recordId"] for entry in page.json()["data"]]
    assert sorted(found) == sorted(str(number) for number in range(1, LARGE + 1))


def test_an_entry_that_is_larger_than_a_page_is_a_page_of_its_own(client: httpx.Client) -> None:
    assert [len(page.json()["data"]) for page in pages(client, resource="huge")] == [1, 1]


@pytest.mark.parametrize(("limit", "sizes"), [("50", [50, 50, 50]), ("149", [149, 1]), ("150", [150])])
def test_small_entries_fill_a_page(client: httpx.Client, limit: str, sizes: list[int]) -> None:
    assert [len(page.json()["data"]) for page in pages(client, resource="small", limit=limit)] == sizes


def test_an_export_goes_out_in_parts_of_a_few_mebibytes(filled: str) -> None:
    async def parts() -> list[bytes]:
        async with AsyncConnectionPool[Any](filled, min_size=1, max_size=1, open=False) as pool:

            @asynccontextmanager
            async def connect() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
                async with pool.connection() as conn, conn.transaction():
                    yield conn

            return [part async for part in export_pages(connect, audit.query(), format="ndjson")]

    found = asyncio.run(parts())
    assert max(map(len, found)) < 6 * MIB + 100_000  # that of the largest entry
    assert sum(len(part) > PART_BYTES + 100_000 for part in found) <= 2
    out = io.BytesIO()
    with psycopg.connect(filled) as conn:
        export(conn, audit.query(), format="ndjson", out=out)
    assert b"".join(found) == out.getvalue()


# The loop of the application


class Watched(list[str]):
    """A body that remembers the thread that encodes it."""

    thread: threading.Thread | None = None

    def __iter__(self) -> Iterator[str]:
        self.thread = threading.current_thread()
        return super().__iter__()


def test_an_answer_is_encoded_beside_the_loop() -> None:
    body = Watched("ab")

    async def watched(_request: AuthenticatedRequest) -> ConsoleResponse:
        return ConsoleResponse(200, [body, {"loop": threading.current_thread().name}])

    product = Product(id="x", name="X", endpoints=[ProductEndpoint(method="GET", path="/y", handler=watched)])
    with serving_installed(Console(settings(), products=[product])) as client:
        answer = client.get("/x/y", headers=bearer("read")).json()
    assert answer[0] == ["a", "b"]
    assert body.thread is not None
    assert body.thread.name != answer[1]["loop"]


# Clients that do not read


@contextmanager
def deaf(base_url: str, path: str, headers: dict[str, str]) -> Iterator[socket.socket]:
    """A client that asks and reads nothing."""
    host, _, port = base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        sock.sendall(f"GET {PREFIX}{path} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode())
        yield sock


def blob(size: int) -> Product:
    """One route with a large answer."""

    async def handle(_request: AuthenticatedRequest) -> ConsoleResponse:
        return ConsoleResponse(200, "x" * size)

    return Product(id="blob", name="Blob", endpoints=[ProductEndpoint(method="GET", path="/it", handler=handle)])


def test_a_call_keeps_its_turn_until_its_answer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_limit, "WAIT_SECONDS", 0.2)
    console, session = Console(settings(), products=[blob(16 * MIB)]), bearer("read")
    at_once = 4
    with serving(console.asgi) as base_url, httpx.Client(base_url=base_url + PREFIX) as client:
        with ExitStack() as clients:
            for _ in range(at_once):
                clients.enter_context(deaf(base_url, "/blob/it", session))
            wait_until(
                lambda: client.get("/account/session", headers=session).status_code == 429, "no turn of it is free"
            )
            refused = client.get("/account/session", headers=session)
            assert_problem(refused, 429, "too_many_calls")
            assert (refused.headers["retry-after"], refused.json()["retryAfter"]) == ("1", 1)
            assert client.get("/account/session", headers=bearer("read")).status_code == 200
        wait_until(lambda: client.get("/account/session", headers=session).status_code == 200, "turns are given back")


def test_a_client_that_reads_nothing_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "SEND_SECONDS", 0.3)
    session = bearer("read")
    pool = AsyncConnectionPool[Any](open=False, max_size=1, min_size=0)  # so that a session has one turn
    with serving(Console(settings(), pool=pool, products=[blob(16 * MIB)]).asgi) as base_url:
        with deaf(base_url, "/blob/it", session) as sock:
            answer = httpx.get(f"{base_url}{PREFIX}/account/session", headers=session)
            assert answer.status_code == 200
            received = 0
            while part := sock.recv(MIB):
                received += len(part)
        assert received < 16 * MIB
        whole = httpx.get(f"{base_url}{PREFIX}/blob/it", headers=session)
    assert int(whole.headers["content-length"]) == len(whole.content) == 16 * MIB + 2


# Connections


@pytest.fixture
def blocker(database: str) -> Iterator[psycopg.Connection]:
    """A transaction that keeps all readers of the log waiting."""
    with psycopg.connect(database) as blocker:
        blocker.execute("lock table svc.audit_logs in access exclusive mode")
        yield blocker


def waiting(conninfo: str) -> int:
    """The sessions of the database that wait for a lock."""
    with psycopg.connect(conninfo) as conn:
        found = conn.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        ).fetchone()
    assert found is not None
    return int(found[0])


def application(console: Console, pool: AsyncConnectionPool[Any]) -> FastAPI:
    """An application with a route that uses a connection, and the console."""

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/work")
    async def work() -> dict[str, int]:
        async with pool.connection(timeout=1) as conn:
            await conn.execute("select 1")
        return {"done": 1}

    console.install(app)
    return app


def test_the_console_takes_at_most_half_of_the_applications_pool(blocker: psycopg.Connection, database: str) -> None:
    pool = AsyncConnectionPool[Any](database, min_size=1, max_size=4, open=False)
    with (
        serving(application(Console(settings(), pool=pool), pool)) as base_url,
        client_for_threads(base_url, timeout=30) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        calls = [threads.submit(client.get, f"{PREFIX}/audit/entries", headers=bearer("read")) for _ in range(8)]
        wait_until(lambda: waiting(database) == 2, "two connections wait")
        assert [client.get("/work").status_code for _ in range(5)] == [200] * 5
        assert waiting(database) == 2
        blocker.rollback()
        assert {call.result().status_code for call in calls} == {200}


@pytest.mark.usefixtures("blocker")
def test_one_session_leaves_connections_to_the_others(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_limit, "WAIT_SECONDS", 1)
    monkeypatch.setattr(database_module, "STATEMENT_TIMEOUT_SECONDS", 2)
    pool = AsyncConnectionPool[Any](database, min_size=1, max_size=10, open=False)
    greedy = bearer("read")
    with (
        serving(application(Console(settings(), pool=pool), pool)) as base_url,
        client_for_threads(base_url, timeout=30) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        calls = [threads.submit(client.get, f"{PREFIX}/audit/entries", headers=greedy) for _ in range(8)]
        wait_until(lambda: waiting(database) == 2, "two calls of the session wait for the database")
        others = [client.get(f"{PREFIX}/webhooks/endpoints", headers=bearer("read")) for _ in range(5)]
        assert [answer.status_code for answer in others] == [200] * 5
        refused = [call.result() for call in calls]
    assert sorted(json.loads(answer.content)["code"] for answer in refused).count("too_many_calls") == 6


class CountingPool(AsyncConnectionPool[Any]):
    """A pool that knows how many of its connections were in use at a time."""

    in_use = 0
    most = 0

    async def getconn(self, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - as the pool has it
        conn = await super().getconn(timeout)
        self.in_use += 1
        self.most = max(self.most, self.in_use)
        return conn

    async def putconn(self, conn: Any) -> None:
        self.in_use -= 1
        await super().putconn(conn)


def cookie_of(client: httpx.Client) -> dict[str, str]:
    """The header of a session of the pages of one person."""
    browser = signed_in(client, "admin")
    return {**OWN, "Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


@pytest.mark.parametrize("size", [1, 2, 4, 8, 20])
def test_a_page_that_asks_two_questions_at_once_needs_no_more_than_the_pool_has(database: str, size: int) -> None:
    pool = CountingPool(database, min_size=0, max_size=size, open=False)
    with serving_with_pool(Console(settings(), pool=pool), pool) as client:
        browser = signed_in(client, "admin")
        for address in ("/overview", "/audit", "/search?q=nothing", "/audit?view=rows"):
            assert browser.get(address).status_code == 200
    assert pool.in_use == 0
    assert pool.most == (1 if size < 8 else 2)


@pytest.mark.usefixtures("blocker")
def test_the_pages_of_one_session_leave_connections_to_the_others(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "WAIT_SECONDS", 1)
    pool = AsyncConnectionPool[Any](database, min_size=1, max_size=8, open=False)
    with (
        serving(application(Console(settings(), pool=pool), pool)) as base_url,
        client_for_threads(base_url, timeout=30) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        cookie = cookie_of(client)
        pages = [threads.submit(client.get, f"{PREFIX}/ui/audit", headers=cookie) for _ in range(8)]
        wait_until(lambda: waiting(database) == 3, "two pages of the session wait for the database")
        others = [client.get(f"{PREFIX}/webhooks/endpoints", headers=bearer("read")) for _ in range(5)]
        assert [answer.status_code for answer in others] == [200] * 5
        assert waiting(database) == 3
        assert {page.result().status_code for page in pages} == {429, 503}


def test_a_person_who_leaves_a_page_gives_its_connections_back(blocker: psycopg.Connection, database: str) -> None:
    pool = CountingPool(database, min_size=0, max_size=8, open=False)
    with serving_with_pool(Console(settings(), pool=pool), pool) as client:
        cookie = cookie_of(client)
        with deaf(str(client.base_url).removesuffix(PREFIX + "/"), "/ui/audit", cookie):
            wait_until(lambda: waiting(database) == 2, "both questions of the page wait for the database")
        blocker.rollback()
        wait_until(lambda: pool.in_use == 0, "no connection is in use")
        assert client.get("/ui/audit", headers=cookie).status_code == 200
