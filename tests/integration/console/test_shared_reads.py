"""The reads of an answer and their record are one transaction on one connection, which no answer waits for in vain."""

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from svc_pg import Config
from svc_pg.console import Console
from svc_pg.console.audit_log import postgres as postgres_log
from svc_pg.console.audit_log import read_recording
from svc_pg.console.audit_log.shared_transaction import shared_transaction, sharing
from svc_pg.console.database import pool as database
from svc_pg.console.database.pool import Database
from svc_pg.console.http.requests import Problem
from tests.integration.console.serving import PREFIX, assert_problem, bearer, serving_with_pool, settings
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit
from tests.support.waiting import wait_until

CONFIG: Final = Config()
CONFIG.audit.table("public.patient", record_reads=True)
READS: Final = "select count(*) from svc.audit_logs where table_name = 'svc.audit_reads'"
HELD: Final = (
    "select count(*) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null"
    " and backend_type = 'client backend'"
)
OPENAPI: Final = Path(__file__).parents[3] / "docs/openapi.json"


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table patient (id text primary key, name text)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into patient values ('1', 'Ines'), ('2', 'Eve')")
            conn.execute("update patient set name = 'Inez' where id = '1'")
        yield conninfo


@pytest.fixture(scope="module")
def console(installed: str) -> Console:
    """A console with one connection: whatever holds it and asks for another waits for itself."""
    pool = AsyncConnectionPool[Any](installed, min_size=0, max_size=2, open=False)  # of which the console takes half
    console = Console(settings(), pool=pool, config=CONFIG)
    console.turns._at_once = 8
    return console


@pytest.fixture(scope="module")
def client(console: Console) -> Iterator[httpx.Client]:
    pool = console._database._pool
    assert pool is not None
    with serving_with_pool(console, pool) as client:
        client.headers.update(bearer("admin"))
        yield client


@pytest.fixture(autouse=True)
def _forgotten_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look at the marks ask the database, as that after 15 seconds does."""
    monkeypatch.setattr(read_recording, "MARKS_SECONDS", 0)


@pytest.fixture
def conn(installed: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(installed, autocommit=True) as conn:
        yield conn


def reads(conn: psycopg.Connection[Any]) -> int:
    [number] = conn.execute(READS).fetchone() or (0,)
    return int(number)


def settled(conn: psycopg.Connection[Any]) -> None:
    wait_until(lambda: conn.execute(HELD).fetchone() == (0,), "no transaction is open")


@contextmanager
def unrecordable(installed: str) -> Iterator[psycopg.Connection[Any]]:
    """Let nobody write entries until the end of the block."""
    with psycopg.connect(installed) as conn:
        conn.execute("lock table svc.audit_logs in share mode")
        yield conn


def get_paths(entry: str) -> list[str]:
    """An address of each read of the log."""
    paths = []
    for path, methods in json.loads(OPENAPI.read_text())["paths"].items():
        if path.startswith("/audit/") and "get" in methods:
            key = "1" if "{table}" in path else entry
            paths.append(path.replace("{table}", "patient").replace("{id}", key))
    return paths


def test_no_answer_takes_a_second_connection(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    entry = client.get("/audit/records/patient/1").json()["data"][0]["id"]
    paths = get_paths(entry)
    assert len(paths) > 20
    searches = [
        "/audit/entries?text=Inez",
        "/audit/export?text=Inez&format=ndjson",
        f"/audit/entries?around={entry}&limit=3",
        "/audit/records/patient/1/as-of?time=2100-01-01",
        "/audit/tables/patient/as-of?time=2100-01-01",
        "/audit/transactions?text=Inez",
    ]
    for path in [*paths, *searches]:
        answer = client.get(path)
        assert answer.status_code < 500, (path, answer.text)
    settled(conn)


def test_answers_at_once_each_have_their_record(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    before = reads(conn)
    with ThreadPoolExecutor(8) as threads:
        found = [*threads.map(lambda _: client.get("/audit/records/patient/1").status_code, range(24))]
    assert found == [200] * 24
    assert reads(conn) == before + 24


@pytest.mark.parametrize("path", ["/audit/records/patient/1", "/audit/entries?text=Inez"])
def test_an_answer_whose_record_takes_too_long_is_refused_and_holds_nothing(
    client: httpx.Client,
    conn: psycopg.Connection[Any],
    installed: str,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "STATEMENT_TIMEOUT_SECONDS", 1)
    before = reads(conn)
    with unrecordable(installed):
        answer = client.get(path)
        assert_problem(answer, 503, "database_timeout")
        assert "Inez" not in answer.text
        assert client.get("/audit/tables").status_code == 200
    assert reads(conn) == before
    assert client.get(path).status_code == 200
    assert reads(conn) == before + 1


def test_a_record_after_a_search_has_the_time_of_all_statements(
    client: httpx.Client, conn: psycopg.Connection[Any], installed: str
) -> None:
    waits = (
        "select now() - xact_start from pg_stat_activity where wait_event_type = 'Lock' and query like '%%add_reads%%'"
    )
    with ThreadPoolExecutor(1) as thread, unrecordable(installed) as holder:
        answer = thread.submit(client.get, "/audit/entries?text=Inez")
        longer = f"select exists ({waits} and now() - query_start > interval '1.5 s')"
        wait_until(lambda: conn.execute(longer).fetchone() == (True,), "it waits longer than a search may")
        holder.rollback()
        assert answer.result().status_code == 200


@pytest.mark.parametrize("path", ["/audit/entries?resource=patient&limit=50", "/audit/entries?around={entry}&limit=3"])
def test_a_page_that_is_cut_is_recorded_once_all_the_same(
    client: httpx.Client, conn: psycopg.Connection[Any], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To cut it ends its transaction."""
    entry = client.get("/audit/records/patient/1").json()["data"][0]["id"]
    monkeypatch.setattr(postgres_log, "PAGE_BYTES", 100)
    before = reads(conn)
    answer = client.get(path.replace("{entry}", entry))
    assert answer.status_code == 200, answer.text
    assert 1 <= len(answer.json()["data"]) <= 3
    assert reads(conn) == before + 1
    settled(conn)


def test_a_server_that_may_only_be_read_refuses_what_must_be_recorded(installed: str) -> None:
    conninfo = f"{installed} options='-c default_transaction_read_only=on'"
    pool = AsyncConnectionPool[Any](conninfo, min_size=0, max_size=2, open=False)
    with serving_with_pool(Console(settings(), pool=pool, config=CONFIG), pool) as client:
        client.headers.update(bearer("admin"))
        for path in ("/audit/records/patient/1", "/audit/entries?text=Inez"):
            answer = client.get(path)
            assert_problem(answer, 503, "read_not_recorded")
            assert "Inez" not in answer.text
        assert client.get("/audit/tables").status_code == 200


def test_a_client_that_leaves_holds_nothing(
    client: httpx.Client, conn: psycopg.Connection[Any], installed: str
) -> None:
    waiting = "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and query like '%add_reads%')"
    with unrecordable(installed):
        lines = [
            f"GET {PREFIX}/audit/records/patient/1 HTTP/1.1",
            f"Host: {client.base_url.host}",
            f"Authorization: {client.headers['Authorization']}",
        ]
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            wait_until(lambda: conn.execute(waiting).fetchone() == (True,), "the record waits")
    settled(conn)
    assert client.get("/audit/records/patient/1").status_code == 200


def test_a_file_is_sent_outside_of_the_transaction_that_the_reads_share(client: httpx.Client) -> None:
    answer = client.get("/audit/export?format=ndjson")
    assert answer.status_code == 200
    assert len(answer.text.splitlines()) >= 3


def test_a_connection_is_used_by_one_read_at_a_time(installed: str) -> None:
    asyncio.run(_in_turn(installed))


async def _in_turn(installed: str) -> None:
    async with AsyncConnectionPool[Any](installed, min_size=0, max_size=2, open=False) as pool:
        own = Database(None, pool)
        async with sharing(own):
            shared = shared_transaction()
            assert shared is not None
            async with shared.connection() as first:
                with pytest.raises(RuntimeError, match="one after another"):
                    async with shared.connection():
                        pass
            async with shared.connection() as again:
                assert again is first
            async with shared.apart() as other:
                await other.execute("select set_config('svc.actor_id', 'mara', true)")
            async with shared.connection() as last:
                found = await (await last.execute("select current_setting('svc.actor_id', true)")).fetchone()
                assert found in ((None,), ("",))
        assert shared_transaction() is None
        assert pool.get_stats()["pool_available"] == pool.get_stats()["pool_size"]


def test_an_error_ends_the_transaction_and_the_next_read_begins_another(installed: str) -> None:
    asyncio.run(_after_an_error(installed))


async def _after_an_error(installed: str) -> None:
    async with AsyncConnectionPool[Any](installed, min_size=0, max_size=2, open=False) as pool:
        async with sharing(Database(None, pool)):
            shared = shared_transaction()
            assert shared is not None
            with pytest.raises(Problem):
                async with shared.connection() as conn:
                    await conn.execute("select set_config('svc.actor_id', 'mara', true), 1 / 0")
            async with shared.connection() as conn:
                found = await (await conn.execute("select current_setting('svc.actor_id', true)")).fetchone()
                assert found in ((None,), ("",))
        assert pool.get_stats()["pool_available"] == pool.get_stats()["pool_size"]
