"""A database with webhooks alone, on the command line: sent, delivered by a worker, and given the audit trail later."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import psycopg
import pytest

from svc_pg.database.query import scalar
from tests.support.commands import running, svc_pg
from tests.support.hooks import KEYS_TEXT
from tests.support.ports import free_port
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ADD = "Only webhooks are installed here. To add the audit trail: svc-pg install --all"
MISSING = "error: the database has no audit trail of svc-pg, or an older one"
HINT = "hint: Run: svc-pg install. Where only webhooks are installed, add --all."
TOML = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."order.created"]
"""
OF_THE_AUDIT_TRAIL = re.compile(r"audit(?!_logs|_epoch|_guard)|seal(?!_)|reconcil|actor|hold", re.IGNORECASE)


@pytest.fixture
def variables(empty_database: str) -> dict[str, str]:
    return {"DATABASE_URL": empty_database, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}


@pytest.fixture
def run(variables: dict[str, str], tmp_path: Path) -> Run:
    (tmp_path / "svc-pg.toml").write_text(TOML)
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables=variables)


@pytest.fixture
def conn(empty_database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


def test_webhooks_are_delivered_without_the_audit_trail_which_is_added_later(
    run: Run, conn: psycopg.Connection, variables: dict[str, str], tmp_path: Path
) -> None:
    done = run("install", "--only", "webhooks")
    assert (done.returncode, ADD in done.stderr) == (0, True), done.stderr
    assert OF_THE_AUDIT_TRAIL.findall(done.stderr.replace(ADD, "")) == []
    assert "Nothing to change" in run("install").stderr
    said = tmp_path / "said"
    with (
        said.open("wb") as stream,
        receiving() as receiver,
        running("worker", folder=tmp_path, variables=variables, stderr=stream),
    ):
        added = run("webhooks", "add", "--url", receiver.url, "--event", "order.*")
        assert added.returncode == 0, added.stderr
        assert run("send", "order.created", '{"id": 7}').returncode == 0
        wait_until(lambda: len(receiver.requests) == 1, "the message has arrived")
    assert json.loads(receiver.requests[0].body)["data"] == {"id": 7}
    assert "the log of changes of svc-pg's own tables forever" in said.read_text()
    assert OF_THE_AUDIT_TRAIL.findall(said.read_text()) == []
    logged = run("log", "--table", "svc.webhook_endpoints")
    assert (logged.returncode, "INSERT" in logged.stdout) == (0, True), logged.stderr

    status = run("status")
    assert status.returncode == 0, status.stdout + status.stderr
    assert OF_THE_AUDIT_TRAIL.findall(status.stdout + status.stderr) == []
    assert json.loads(run("status", "--json").stdout)["lastDay"] == []

    conn.execute("create table customer (id int primary key)")
    (tmp_path / "svc-pg.toml").write_text('[[audit.tables]]\nname = "customer"\n' + TOML)
    refused = run("install")
    assert refused.returncode == 1
    assert "the configuration has audit.tables, and this database has only webhooks" in refused.stderr
    assert "svc-pg install --all" in refused.stderr
    assert "audit_blame" in run("plan", "--all").stdout
    assert "audit_blame" in run("migrate", "--all").stdout
    done = run("install", "--all")
    assert (done.returncode, ADD in done.stderr) == (0, False), done.stderr
    conn.execute("insert into customer (id) values (1)")
    assert "INSERT" in run("log", "--table", "customer").stdout
    assert run("blame", "customer", "1").returncode == 0
    assert run("webhooks", "deliveries").stdout.count("order.created") == 1
    assert run("status").returncode == 0

    (tmp_path / "svc-pg.toml").write_text(TOML)
    refused = run("install", "--only", "webhooks")
    assert refused.returncode == 1
    assert "the audit trail" in refused.stderr


def test_the_configuration_names_webhooks_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text('products = ["webhooks"]\n' + TOML)
    done = run("install")
    assert (done.returncode, ADD in done.stderr) == (0, False)
    refused = run("install", "--only", "audit")
    assert refused.returncode == 2
    assert 'the configuration says products = ["webhooks"]; change it there' in " ".join(refused.stderr.split())
    (tmp_path / "svc-pg.toml").write_text('products = ["webhooks"]\n[[audit.tables]]\nname = "customer"\n')
    refused = run("install")
    assert refused.returncode == 1
    assert "the configuration has audit.tables, and only webhooks are wanted" in refused.stderr
    assert 'products = ["audit", "webhooks"]' in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        "erase customer 1 --yes",
        "hold customer 1 --reason x",
        "blame customer 1",
        "history customer 1",
        "reconcile",
        "verify",
    ],
)
def test_a_command_of_the_audit_trail_says_that_it_is_not_installed(
    run: Run, conn: psycopg.Connection, command: str
) -> None:
    conn.execute("create table customer (id int primary key)")
    run("install", "--only", "webhooks")
    done = run(*command.split())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [MISSING, HINT]


def test_a_worker_of_webhooks_alone_has_no_metrics_of_the_audit_trail(
    run: Run, variables: dict[str, str], conn: psycopg.Connection, tmp_path: Path
) -> None:
    run("install", "--only", "webhooks")
    port, opener = free_port(), build_opener(ProxyHandler({}))
    with running("worker", "--metrics-port", str(port), folder=tmp_path, variables=variables):

        def metrics() -> str:
            with suppress(OSError), opener.open(f"http://127.0.0.1:{port}/metrics") as answer:
                return str(answer.read().decode())
            return ""

        wait_until(lambda: "svc_webhook_database_up 1.0" in metrics(), "the worker has its database")
        names = {line.split("{")[0].split(" ")[0] for line in metrics().splitlines() if not line.startswith("#")}
        wait_until(
            lambda: scalar(conn, "select succeeded_at from svc.maintenance where task = 'maintenance'") is not None,
            "it has maintained",  # at first within a hundredth of an hour
            limit=timedelta(seconds=60),
        )
    assert [name for name in names if "audit" in name] == []
    assert {"svc_webhook_backlog_age_seconds", "svc_maintenance_runs_total"} <= names
