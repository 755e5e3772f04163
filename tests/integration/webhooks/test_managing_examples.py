"""What docs/steering-webhooks.md and docs/operations.md show of Python does what they say."""

import ast
import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI

from svc_pg import webhooks
from svc_pg.query import fetch
from svc_pg.webhooks import delivery_queries as deliveries
from svc_pg.webhooks import endpoint_queries as endpoints
from tests.commands import environment
from tests.documents import examples
from tests.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.integration.console.serving import serving
from tests.receiver import receiving
from tests.waiting import wait_until

CONFIG = hooks_config("order.created")
TOML = '[webhooks]\nallow_http = true\nallow_cidrs = ["127.0.0.0/8"]\n'


@pytest.fixture
def folder(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a program, with its configuration and environment."""
    (tmp_path / "svc-pg.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("SVC_ENCRYPTION_KEYS", KEYS_TEXT)
    return tmp_path


def send(database: str) -> None:
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {"id": 7})


def is_delivered(database: str) -> bool:
    with psycopg.connect(database) as conn:
        return [each.status for each in deliveries.query().list(conn).data] == ["delivered"]


@pytest.mark.usefixtures("folder")
def test_the_documented_application_delivers_beside_its_routes_and_stops_with_it(database: str) -> None:
    written: dict[str, Any] = {}
    exec(examples("operations.md", "In your own process")[0], written)
    app: FastAPI = written["app"]
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with serving(app):
            send(database)
            receiver.wait_for(1)
    assert is_delivered(database)


def test_the_documented_program_delivers_until_sigterm(folder: Path, database: str) -> None:
    program = folder / "deliver.py"
    program.write_text(examples("operations.md", "In your own process")[1], encoding="utf-8")
    variables = environment(DATABASE_URL=database, SVC_ENCRYPTION_KEYS=KEYS_TEXT)
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        process = subprocess.Popen([sys.executable, program], cwd=folder, env=variables)
        try:
            send(database)
            wait_until(lambda: is_delivered(database))
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
            process.wait()


@pytest.mark.usefixtures("folder")
def test_the_documented_calls_make_pause_and_recover_an_endpoint(database: str) -> None:
    ready, calls = examples("steering-webhooks.md", "Python")
    endpoint(database, CONFIG, "https://example.com/other")  # so that the event is defined

    async def run() -> dict[str, Any]:
        with psycopg.connect(database) as conn:
            async with await psycopg.AsyncConnection.connect(database) as async_conn:
                names: dict[str, Any] = {"conn": conn, "async_conn": async_conn}
                exec(ready, names)
                await eval(compile(calls, "steering-webhooks.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
                return names

    names = asyncio.run(run())
    assert names["new"].secret.startswith("whsec_")
    assert (names["retried"].count, names["retried"].is_complete) == (0, True)
    assert names["page"].data == []
    with psycopg.connect(database) as conn:
        [made] = fetch(conn, endpoints.get(names["endpoint"].id))
    assert (made.status, made.tenant) == ("paused", "acme")
