import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, LiteralString

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from svc_pg.console import Console, Problem
from svc_pg.console.database import pool as database
from tests.integration.console.serving import PREFIX, assert_problem, bearer, serving_with_pool, settings

CLIENTS = 20


@pytest.fixture
def client(shared_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """A client of a console whose pool has one connection and is waited for only shortly."""
    monkeypatch.setattr(database, "POOL_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(database, "STATEMENT_TIMEOUT_SECONDS", 1)
    pool = AsyncConnectionPool[Any](shared_database, min_size=1, max_size=1, open=False)
    console = Console(settings(), pool=pool)
    with serving_with_pool(console, pool) as client:
        yield client


def test_an_exhausted_pool_is_503_with_retry_after_and_recovers(client: httpx.Client, shared_database: str) -> None:
    with psycopg.connect(shared_database) as blocker:
        blocker.execute("lock table svc.audit_logs in access exclusive mode")
        with ThreadPoolExecutor(CLIENTS) as threads:
            sessions = [bearer("read") for _ in range(CLIENTS)]
            responses = list(threads.map(lambda session: client.get("/audit/entries", headers=session), sessions))
        cookie = "svc_console=" + sessions[0]["Authorization"].removeprefix("Bearer ")
        page = client.get("/ui/audit", headers={"Cookie": cookie})
        assert (page.status_code, page.headers["retry-after"]) == (503, "5")
        blocker.rollback()
    codes = {response.json()["code"] for response in responses}
    assert codes == {"database_busy", "database_timeout"}  # the latter for whoever had the connection
    for response in responses:
        assert_problem(response, 503, response.json()["code"])
        assert (response.headers["retry-after"], response.json()["retryAfter"]) == ("5", 5)
    assert client.get("/audit/entries", headers=bearer("read")).status_code == 200


def test_a_full_queue_of_the_pool_is_503_at_once(shared_database: str) -> None:
    async def two_while_nobody_is_served() -> tuple[httpx.Response, httpx.Response]:
        async with AsyncConnectionPool[Any](shared_database, min_size=1, max_size=4, max_waiting=1, open=False) as pool:
            transport = httpx.ASGITransport(app=Console(settings(), pool=pool).asgi)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                async with pool.connection(), pool.connection(), pool.connection(), pool.connection():
                    request = partial(client.get, f"{PREFIX}/audit/entries")
                    calls = [asyncio.create_task(request(headers=bearer("read"))) for _ in range(2)]
                    [refused], [waiting] = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                return refused.result(), await waiting

    refused, served = asyncio.run(two_while_nobody_is_served())
    assert (refused.status_code, refused.json()["code"]) == (503, "database_busy")
    assert served.status_code == 200, served.text


@pytest.mark.parametrize(
    "statement",
    [
        "do $$ begin raise serialization_failure; end $$",
        "do $$ begin raise deadlock_detected; end $$",
        "do $$ begin raise lock_not_available; end $$",
    ],
)
def test_what_other_transactions_are_to_blame_for_is_503_to_be_tried_again(
    shared_database: str, statement: LiteralString
) -> None:
    async def refused() -> Problem:
        console = Console(settings(database_url=shared_database))
        with pytest.raises(Problem) as refusal:
            async with console.lifespan(), console.connection() as conn:
                await conn.execute(statement)
        return refusal.value

    problem = asyncio.run(refused())
    assert (problem.status, problem.code, problem.headers["Retry-After"]) == (503, "database_busy", "5")


def answer_without_a_server(port: int, monkeypatch: pytest.MonkeyPatch, **options: Any) -> httpx.Response:
    monkeypatch.setattr(database, "POOL_TIMEOUT_SECONDS", 0.2)
    pool = AsyncConnectionPool[Any](f"host=127.0.0.1 port={port}", min_size=0, max_size=2, open=False, **options)
    with serving_with_pool(Console(settings(), pool=pool), pool) as client:
        return client.get("/audit/entries", headers=bearer("read"))


def test_a_database_that_is_down_is_not_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        assert_problem(answer_without_a_server(port, monkeypatch), 503, "database_unavailable")
        assert_problem(answer_without_a_server(9, monkeypatch, kwargs={"port": port}), 503, "database_unavailable")


def test_a_database_that_swallows_is_not_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        answer = answer_without_a_server(deaf.getsockname()[1], monkeypatch, reconnect_timeout=1)
    assert_problem(answer, 503, "database_unavailable")
    assert answer.headers["retry-after"] == "5"
