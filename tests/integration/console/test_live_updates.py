"""Streams that say that something has changed, end with their session, and are bounded."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.console import AuthenticatedRequest, Console, ConsoleResponse, Product, ProductEndpoint, Session
from svc_pg.console.audit_log import live_updates, postgres
from svc_pg.console.sign_in import api_tokens
from svc_pg.console.transport import stream_guard
from tests.integration.console.serving import PREFIX, assert_problem, bearer, serving_installed, settings
from tests.integration.console.signing_in import Mailbox, move, new_address, sign_in
from tests.support.hooks import endpoint, hooks_config, install
from tests.support.postgres import Prepare
from tests.support.tables import add_entry
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
PATH = "/account/changes"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_guard, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(live_updates, "POLL_SECONDS", 0.05)


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database), config=CONFIG)) as client:
        yield client


class Listener:
    """Somebody who listens in a thread: the topics so far, and whether the stream has ended."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.topics: list[str] = []
        self.is_open, self.is_over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        try:
            for line in self.response.iter_lines():
                if line == "event: following":
                    self.is_open.set()
                if line.startswith("data: "):
                    self.topics += json.loads(line.removeprefix("data: "))
        except (httpx.HTTPError, httpx.StreamError):
            pass
        self.is_over.set()


@contextmanager
def listening(client: httpx.Client, headers: dict[str, str], path: str = PATH) -> Iterator[Listener]:
    """Listen once the poller has seen how things are."""
    with (
        httpx.Client(base_url=client.base_url, timeout=30) as own,
        own.stream("GET", path, headers=headers) as response,
    ):
        assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
        listener = Listener(response)
        assert listener.is_open.wait(10)
        try:
            yield listener
        finally:  # to close it would wait for the thread that reads
            response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def test_constants_end_a_stream_within_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert stream_guard.CHECK_SECONDS + stream_guard.CHECK_TIMEOUT_SECONDS < 5
    assert live_updates.POLL_SECONDS <= 0.5


def told(listener: Listener, topic: str, database: str) -> None:
    """Something happens, and the stream says so."""
    with psycopg.connect(database, autocommit=True) as conn:
        match topic:
            case "audit":
                add_entry(conn, "shop.order", "INSERT", record_id="1")
            case "deliveries":
                webhooks.send(conn, "order.created", {"n": 1})
            case "endpoints":
                conn.execute("update svc.webhook_endpoints set updated_at = clock_timestamp()")
            case "console":
                conn.execute("insert into svc.console_events (event, email) values ('signed_in', 'x')")
    wait_until(lambda: topic in listener.topics, f"the stream says {topic}")


def test_every_topic_is_told_by_bearer_and_by_cookie(client: httpx.Client, database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    session = bearer("read")
    cookie = {"Cookie": f"svc_console={session['Authorization'].removeprefix('Bearer ')}"}
    with listening(client, session) as program, listening(client, cookie, "/ui/changes") as page:
        for topic in live_updates.TOPICS:
            told(program, topic, database)
            wait_until(lambda topic=topic: topic in page.topics, "so does the page's")  # type: ignore[misc]
    with psycopg.connect(database) as conn:
        [[answer]] = conn.execute("select count(*) from svc.audit_logs").fetchall()
    assert answer > 0


def test_the_log_is_told_when_nothing_can_come_before_any_more(client: httpx.Client, database: str) -> None:
    with (
        psycopg.connect(database) as slow,
        psycopg.connect(database, autocommit=True) as quick,
        listening(client, bearer("read")) as listener,
    ):
        told(listener, "console", database)
        slow.execute("select txid_current()")
        add_entry(quick, "shop.order", "INSERT", record_id="1")
        listener.topics.clear()
        told(listener, "console", database)  # so the poller has looked since
        wait_until(lambda: listener.topics.count("console") >= 2, "and looked again")
        assert "audit" not in listener.topics
        slow.rollback()
        wait_until(lambda: "audit" in listener.topics, "the entry is told")


def test_a_stream_takes_no_turn_of_its_session_and_a_session_has_eight(client: httpx.Client) -> None:
    session = bearer("read")
    with ExitStack() as stack:
        for _ in range(live_updates.MOST_OF_A_SESSION):
            stack.enter_context(listening(client, session))
        assert_problem(client.get(PATH, headers=session), 429, "too_many_streams")
        assert client.get("/account/session", headers=session).status_code == 200
        with listening(client, bearer("read")):
            pass
    wait_until(lambda: opens(client, session), "there is room again")


def test_a_stream_that_nobody_reads_keeps_no_place(client: httpx.Client) -> None:
    cookie = {"Cookie": f"svc_console={bearer('read')['Authorization'].removeprefix('Bearer ')}"}
    for _ in range(live_updates.MOST_OF_A_SESSION + 1):
        assert client.head("/ui/changes", headers=cookie).status_code == 200
    with listening(client, cookie, "/ui/changes"):
        pass


@pytest.mark.parametrize("path", ["/audit/export", "/ui/audit/export"])
def test_an_export_is_cut_when_its_session_ends(
    magic: httpx.Client, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def endless(*_: object, **__: object) -> AsyncIterator[bytes]:
        while True:
            yield b"{}\n"
            await asyncio.sleep(0.01)

    monkeypatch.setattr(postgres, "export_pages", endless)
    session = sign_in(magic, mailbox, new_address("admin.example"))
    token = session["Authorization"].removeprefix("Bearer ")
    headers = {"Cookie": f"__Secure-svc_console={token}"} if path.startswith("/ui") else session
    with (
        httpx.Client(base_url=magic.base_url, timeout=30) as own,
        own.stream("GET", path, headers=headers) as response,
    ):
        parts = response.iter_bytes()
        assert next(parts).startswith(b"{}")
        assert magic.delete("/account/session", headers=session).status_code == 204
        with pytest.raises(httpx.RemoteProtocolError):  # not an end as of a whole file
            for _ in parts:
                pass


def opens(client: httpx.Client, session: dict[str, str]) -> bool:
    with client.stream("GET", PATH, headers=session) as response:
        return response.status_code == httpx.codes.OK


def test_all_streams_of_a_process_are_bounded(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_updates, "MOST_CLIENTS", 1)
    with listening(client, bearer("read")):
        answer = client.get(PATH, headers=bearer("read"))
        assert_problem(answer, 503, "too_many_streams")
        assert answer.headers["retry-after"] == "10"


def test_nobody_listens_without_a_session_or_with_one_of_a_tenant(client: httpx.Client, database: str) -> None:
    assert_problem(client.get(PATH), 401, "not_authenticated")
    assert client.get("/ui/changes").status_code == 303
    with psycopg.connect(database) as conn:
        token = api_tokens.add(conn, "acme", permission="admin", tenant="acme").token
    assert_problem(client.get(PATH, headers={"Authorization": f"Bearer {token}"}), 403, "not_for_tenants")


@pytest.mark.parametrize("end", ["sign out", "revoke", "expiry", "idle"])
def test_a_stream_ends_with_its_session(magic: httpx.Client, mailbox: Mailbox, console_database: str, end: str) -> None:
    session = sign_in(magic, mailbox, new_address())
    other = sign_in(magic, mailbox, new_address("admin.example"))
    session_id = magic.get("/account/session", headers=session).json()["sessionId"]
    cookie = {"Cookie": f"__Secure-svc_console={session['Authorization'].removeprefix('Bearer ')}"}
    with (
        listening(magic, session) as program,
        listening(magic, cookie, "/ui/changes") as page,
        listening(magic, other) as stays,
    ):
        match end:
            case "sign out":
                magic.delete("/account/session", headers=session)
            case "revoke":
                magic.delete(f"/account/sessions/{session_id}", headers=other)
            case "expiry":
                move(console_database, "update svc.console_sessions set expires_at = now() where id = %s", session_id)
            case "idle":
                move(
                    console_database,
                    "update svc.console_uses set used_at = used_at - interval '9 h' where id = %s",
                    session_id,
                )
        assert program.is_over.wait(10)
        assert page.is_over.wait(10)
        assert not stays.is_over.is_set()


def test_a_stream_of_a_program_ends_with_its_token(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        made = api_tokens.add(conn, "watch", permission="read")
    with listening(client, {"Authorization": f"Bearer {made.token}"}) as listener:
        with psycopg.connect(database) as conn:
            api_tokens.revoke(conn, "watch")
        assert listener.is_over.wait(10)


@pytest.mark.parametrize("to", [{"permissions": ("read",)}, {"tenant": "acme"}])
def test_a_stream_ends_when_its_session_may_no_longer_open_it(database: str, to: dict[str, Any]) -> None:
    ends_at = datetime.now(UTC) + timedelta(minutes=1)
    now = [Session("shop 1", "bob@shop.example", ("write",), ends_at)]

    async def told(_request: AuthenticatedRequest) -> ConsoleResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"event: following\n\n"
            await asyncio.Event().wait()

        return ConsoleResponse(200, parts(), {"Content-Type": "text/event-stream"})

    route = ProductEndpoint(method="GET", path="/told", handler=told, required_permission="write", is_stream=True)
    product = Product(id="news", name="News", endpoints=[route])
    console = Console(settings(database_url=database), products=[product], session_of=lambda _: now[0])
    with serving_installed(console) as client, listening(client, {}, "/news/told") as listener:
        now[0] = replace(now[0], **to)
        assert listener.is_over.wait(10)


def test_pages_name_their_stream(client: httpx.Client) -> None:
    cookie = {"Cookie": f"svc_console={bearer('admin')['Authorization'].removeprefix('Bearer ')}"}
    assert f'data-stream="{PREFIX}/ui/changes"' in client.get("/ui/sessions", headers=cookie).text
