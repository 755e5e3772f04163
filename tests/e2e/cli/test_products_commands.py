"""A database with the audit trail alone, on the command line."""

import json
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit import SealKey
from svc_pg.database.query import scalar
from tests.support.commands import running, svc_pg
from tests.support.hooks import KEYS_TEXT
from tests.support.ports import free_port
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SEAL_KEY = SealKey("s1", b"k" * 32)
ADD = "Only the audit trail is installed here. To add webhooks: svc-pg install --all"
MISSING = "error: the database has no webhooks of svc-pg, or older ones"
HINT = "hint: Run: svc-pg install. Where only the audit trail is installed, add --all."


@pytest.fixture
def run(empty_database: str, tmp_path: Path) -> Run:
    def run(*arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        variables = {"DATABASE_URL": empty_database, "SVC_ENCRYPTION_KEYS": KEYS_TEXT, **more}
        return svc_pg(*arguments, folder=tmp_path, variables=variables)

    return run


def test_the_audit_trail_is_installed_alone_and_webhooks_are_added(run: Run) -> None:
    done = run("install", "--only", "audit")
    assert (done.returncode, ADD in done.stderr) == (0, True)
    for again in (run("install"), run("install", "--only", "audit")):
        assert "Nothing to change" in again.stderr
    status = run("status", "--verbose")
    assert status.returncode == 0
    assert "webhook" not in status.stdout + status.stderr
    assert json.loads(run("status", "--json").stdout)["deliveries"] is None
    assert run("log").returncode == 0

    assert "webhook_endpoints" in run("plan", "--all").stdout
    assert "webhook_endpoints" in run("migrate", "--all").stdout
    done = run("install", "--all")
    assert (done.returncode, ADD in done.stderr) == (0, False)
    assert run("status").returncode == 0
    assert run("webhooks", "list").returncode == 0

    refused = run("install", "--only", "audit")
    assert refused.returncode == 1
    assert "error: the configuration does not name what is installed: webhooks" in refused.stderr


def test_the_configuration_names_the_products(run: Run, tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text('products = ["audit"]\n')
    done = run("install")
    assert (done.returncode, ADD in done.stderr) == (0, False)
    assert run("install", "--only", "audit").returncode == 0
    refused = run("install", "--all")
    assert refused.returncode == 2
    assert 'the configuration says products = ["audit"]; change it there' in " ".join(refused.stderr.split())
    (tmp_path / "svc-pg.toml").write_text('products = ["audit", "webhooks"]\n')
    assert run("install").returncode == 0
    assert run("webhooks", "list").returncode == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--only", "nonsense"], "'nonsense' is no product; write audit or webhooks"),
        (["--only", "webhooks", "--all"], "--all adds what --only leaves out; give one of them"),
        (["--only", "audit", "--all"], "--all adds what --only leaves out; give one of them"),
    ],
)
def test_other_products_are_refused(run: Run, options: list[str], problem: str) -> None:
    done = run("install", *options)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    "command", ["send order.created {}", "webhooks list", "webhooks deliveries", "webhooks health", "webhooks prune"]
)
def test_a_command_of_webhooks_says_that_these_are_not_installed(run: Run, command: str) -> None:
    run("install", "--only", "audit")
    done = run(*command.split())
    assert done.returncode == 1
    assert done.stderr.splitlines() == [MISSING, HINT]


@pytest.mark.parametrize("keys", ["", KEYS_TEXT], ids=["without", "with"])
def test_a_worker_maintains_and_seals_the_audit_trail_alone_with_keys_and_without(
    run: Run, empty_database: str, tmp_path: Path, keys: str
) -> None:
    run("install", "--only", "audit")
    with psycopg.connect(empty_database, autocommit=True) as conn:
        audit.capture_log(conn, "a", "INSERT")
        said = tmp_path / "said"
        variables = {"DATABASE_URL": empty_database, "SVC_ENCRYPTION_KEYS": keys, "SVC_SEAL_KEY": SEAL_KEY.text}
        with (
            said.open("wb") as stream,
            running("worker", folder=tmp_path, variables=variables, stderr=stream) as worker,
        ):
            wait_until(lambda: scalar(conn, "select count(*) from svc.audit_seals") == 1, "it has sealed")
            wait_until(lambda: "maintenance started" in said.read_text(), "it maintains")
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(20) == 0
    words = said.read_text()
    assert "the database has only the audit trail: the worker maintains it, and delivers nothing" in words
    assert "maintenance started; the audit log is kept forever" in words
    assert " worker svc" not in words


@pytest.mark.parametrize("options", ["--only deliveries", "--processes 2"])
def test_a_worker_that_is_to_deliver_says_that_there_are_no_webhooks(run: Run, options: str) -> None:
    run("install", "--only", "audit")
    done = run("worker", *options.split())
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        MISSING,
        f"{HINT} A database that has only the audit trail is maintained by: svc-pg worker",
    ]


@pytest.mark.parametrize("options", ["", "--only deliveries", "--processes 2"])
def test_a_worker_needs_keys_for_the_webhooks_of_its_database(run: Run, options: str) -> None:
    assert run("install").returncode == 0
    done = run("worker", *options.split(), SVC_ENCRYPTION_KEYS="")
    assert (done.returncode, "error: SVC_ENCRYPTION_KEYS is not set" in done.stderr) == (1, True)


def test_what_is_asked_of_both_is_answered_without_webhooks(run: Run, empty_database: str, tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text('[[audit.tables]]\nname = "customer"\n')
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table customer (id int primary key)")
        assert run("install", "--only", "audit").returncode == 0
        conn.execute("insert into customer (id) values (1); insert into svc.tenants (id, name) values ('a7', 'Acme')")
    asked = run("ask", "customer 1")
    assert (asked.returncode, "INSERT" in asked.stdout) == (0, True)
    made = run("console", "token", "add", "reports", "--tenant", "Acme")
    assert (made.returncode, "Acme is the tenant a7." in made.stderr) == (0, True)
    assert run("plan", "--measure").returncode == 0


def test_a_worker_of_the_audit_trail_alone_has_no_metrics_of_webhooks(
    run: Run, empty_database: str, tmp_path: Path
) -> None:
    run("install", "--only", "audit")
    port, opener = free_port(), build_opener(ProxyHandler({}))
    arguments = ["worker", "--metrics-port", str(port)]
    with running(*arguments, folder=tmp_path, variables={"DATABASE_URL": empty_database}):

        def metrics() -> str:
            with suppress(OSError), opener.open(f"http://127.0.0.1:{port}/metrics") as answer:
                return str(answer.read().decode())
            return ""

        wait_until(lambda: "svc_webhook_database_up 1.0" in metrics(), "the worker has its database")
        names = {line.split("{")[0].split(" ")[0] for line in metrics().splitlines() if not line.startswith("#")}
    assert {name for name in names if name.startswith("svc_webhook_")} == {"svc_webhook_database_up"}
    assert {"svc_audit_unsettled_transactions", "svc_maintenance_runs_total"} <= names
