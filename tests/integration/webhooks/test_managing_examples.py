"""The Python of docs/managing-webhooks.md and docs/operations.md does what these say."""

import ast
import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI

from svc_pg import Settings, schema, webhooks
from svc_pg.database.query import scalar
from svc_pg.webhooks import deliveries
from tests.integration.console.serving import serving
from tests.support.commands import environment
from tests.support.documents import examples
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

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
        return [each.status for each in deliveries.list(conn)] == ["delivered"]


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
def test_the_documented_calls_make_pause_and_resume_an_endpoint(database: str) -> None:
    calls = "".join(examples("managing-webhooks.md", "Python"))
    endpoint(database, CONFIG, "https://example.com/other")  # so that the event is defined

    async def run() -> dict[str, Any]:
        with psycopg.connect(database) as conn:
            async with await psycopg.AsyncConnection.connect(database) as async_conn:
                names: dict[str, Any] = {"conn": conn, "async_conn": async_conn}
                await eval(compile(calls, "managing-webhooks.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
                return names

    names = asyncio.run(run())
    made = names["endpoint"]
    assert made.secret.startswith("whsec_")
    assert names["retried"] == deliveries.BulkResult(0, is_complete=True)
    assert [*names["page"]] == []
    with psycopg.connect(database) as conn:
        found = webhooks.endpoints.get(conn, made.id)
    assert (found.status, found.tenant) == ("active", "acme")
    assert found.updated_at > made.updated_at


@pytest.mark.parametrize(
    ("document", "section"), [("managing-webhooks.md", "Python"), ("operations.md", "In your own process")]
)
def test_the_examples_import_nothing_from_the_inside(document: str, section: str) -> None:
    imported = re.findall(r"^ *(?:from|import) (svc_pg\S*)", "".join(examples(document, section)), re.MULTILINE)
    assert set(imported) == {"svc_pg"}


def test_the_calls_of_the_first_page_send_to_the_endpoint_that_they_make(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SVC_ENCRYPTION_KEYS", KEYS_TEXT)
    example = next(
        text for text in examples("webhooks.md", "Send, and add a receiver") if "webhooks.endpoints.create" in text
    )
    with psycopg.connect(database) as conn:
        schema.install(conn, CONFIG)
        exec(example, {"webhooks": webhooks, "Settings": Settings, "conn": conn})
        conn.commit()
        assert capsys.readouterr().out.startswith("whsec_")
        assert scalar(conn, "select count(*) from svc.webhook_messages") == 1
        assert [each.url for each in webhooks.endpoints.list(conn)] == ["https://example.com/hook"]
