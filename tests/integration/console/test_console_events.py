"""Exports of the log, and refusals, are on the record with their actors."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from svc_pg.console import Console, ConsoleRequest, Session, webhooks_app
from tests.integration.console.serving import assert_problem, bearer, serving, serving_installed, settings, shop
from tests.support.waiting import wait_until


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database), products=[shop()])) as client:
        yield client


def events(conninfo: str, event: str) -> list[dict[str, Any]]:
    with psycopg.connect(conninfo, row_factory=psycopg.rows.dict_row) as conn:
        return conn.execute("select * from svc.console_events where event = %s order by id", [event]).fetchall()


def test_an_export_is_recorded_with_who_asked_and_for_what(client: httpx.Client, database: str) -> None:
    session = bearer("write")
    own = client.get("/account/session", headers=session).json()
    asked = {"resource": "public.t", "format": "csv"}
    answer = client.get("/audit/export", params=asked, headers=session | {"User-Agent": "curl/8"})
    assert answer.status_code == 200
    [event] = events(database, "log_exported")
    assert (event["email"], str(event["session_id"])) == ("ann@corp.example", own["sessionId"])
    assert (str(event["ip"]), event["user_agent"]) == ("127.0.0.1", "curl/8")
    assert event["detail"] == "GET /audit/export?resource=public.t&format=csv"


def test_an_export_that_cannot_be_recorded_is_none(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("alter table svc.console_events rename to elsewhere")
    assert_problem(client.get("/audit/export", headers=bearer("write")), 503, "not_installed")


def test_a_refused_call_is_recorded(client: httpx.Client, database: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="svc_pg.console"):
        refused = client.get("/audit/export?actor=b%00b", headers=bearer("read"))
    assert_problem(refused, 403, "insufficient_scope")
    [event] = wait_until(lambda: events(database, "call_refused"), "the refusal is recorded")
    assert (event["email"], event["detail"]) == ("ann@corp.example", "GET /audit/export?actor=b%00b")
    assert f"request {refused.headers['x-request-id']} from 127.0.0.1 refused: insufficient_scope" in caplog.text


def test_a_session_fills_no_table_with_its_refusals(client: httpx.Client, database: str) -> None:
    session = bearer("read")
    for _ in range(40):
        assert client.delete("/shop/orders", headers=session).status_code == 403
    hits = "select hits from svc.console_rate where key like 'refusals of %'"
    with psycopg.connect(database, autocommit=True) as conn:
        wait_until(lambda: conn.execute(hits).fetchall() == [(31,)], "all are counted")
    assert len(events(database, "call_refused")) == 30


def test_a_session_of_the_application_may_have_any_id(database: str) -> None:
    async def session_of(_request: ConsoleRequest) -> Session:
        return Session("user 7", "bob@shop.example", ("read",), expires_at=datetime.max.replace(tzinfo=UTC))

    console = Console(settings(database_url=database))
    app = Starlette(routes=[Mount("/api", webhooks_app(console, session_of=session_of))], lifespan=console.lifespan)
    with serving(app) as base_url:
        assert httpx.post(f"{base_url}/api/events").status_code == 403
        [event] = wait_until(lambda: events(database, "call_refused"), "the refusal is recorded")
    assert (event["session_id"], event["email"], event["detail"]) == (None, "bob@shop.example", "POST /events")


def test_without_its_database_a_console_refuses_at_once() -> None:
    with serving_installed(Console(settings(database_url="host=127.0.0.1 port=9"), products=[shop()])) as client:
        client.timeout = httpx.Timeout(3)
        assert_problem(client.delete("/shop/orders", headers=bearer("read")), 403, "insufficient_scope")
