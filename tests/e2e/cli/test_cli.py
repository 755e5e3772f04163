import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from svc_pg import audit, webhooks
from svc_pg.database.query import scalar
from svc_pg.webhooks.secrets import KeyRing
from tests.support.commands import PROGRAM, environment, svc_pg
from tests.support.hooks import KEYS_TEXT, rows
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]

CONFIG = """
[[audit.tables]]
name = "public.customer"

[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]

[webhooks.events."order.created"]
"""


@pytest.fixture
def run(empty_database: str, tmp_path: Path) -> Run:
    """Run a command in a folder with a configuration, on a database with the table that it names."""
    with psycopg.connect(empty_database) as conn:
        conn.execute("create table customer (id int primary key, email text)")
    Path(tmp_path, "svc-pg.toml").write_text(CONFIG, encoding="utf-8")
    variables = {"DATABASE_URL": empty_database, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables=variables)


def test_install_then_install_again(run: Run) -> None:
    first = run("install")
    assert (first.returncode, first.stdout) == (0, "")
    schema, table, event, number = first.stderr.splitlines()
    assert schema.startswith("create  schema    svc: ")
    assert (table, event) == ("create  audit     public.customer", "create  event     order.created")
    assert number.endswith(" changes.")
    second = run("install")
    assert (second.returncode, second.stdout) == (0, "")
    assert second.stderr == "Nothing to change: the database is as the configuration says.\n"


def test_status_is_ok_after_install_and_3_before(run: Run) -> None:
    before = run("status")
    assert before.returncode == 3
    assert "missing" in before.stdout
    run("install")
    after = run("status")
    assert after.returncode == 0
    lines = [[cell.strip() for cell in line.split("│")] for line in after.stdout.splitlines() if "│" in line]
    assert lines[-2:] == [["ok", "audit", "public.customer"], ["ok", "event", "order.created"]]
    assert len(lines) == 3
    assert after.stderr.startswith("ok: all ")


def test_status_tells_the_tables_whose_entries_have_no_actor(run: Run, empty_database: str) -> None:
    run("install")
    with psycopg.connect(empty_database) as conn:
        conn.execute("insert into customer values (1), (2)")
        with audit.actor(conn, "alice"):
            conn.execute("insert into customer values (3)")
    status = run("status")
    assert "In the last day, 2 of 3 entries of public.customer have no actor.\n" in status.stderr
    assert "with_audit" not in status.stderr
    [about] = json.loads(run("status", "--json").stdout)["lastDay"]
    assert about == {"table": "public.customer", "entries": 3, "withoutActor": 2}


def test_whoever_has_tenants_is_told_of_the_index_that_their_sessions_need(
    run: Run, empty_database: str, tmp_path: Path
) -> None:
    assert "tenants" not in run("install").stderr
    with psycopg.connect(empty_database) as conn:
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
    said = 'There are tenants, whose sessions read the log by tenant, and no index for that: add "tenant" to indexes'
    assert all(said in run(command).stderr for command in ("install", "plan", "status"))
    Path(tmp_path, "svc-pg.toml").write_text(f'[audit]\nindexes = ["tenant"]\n{CONFIG}', encoding="utf-8")
    plan = run("plan")
    assert "-- create index svc.audit_logs_tenant\n-- for lists of one tenant" in plan.stdout
    assert "-- remove index svc.audit_logs_severity; only with --prune\n" in plan.stdout
    assert said not in plan.stderr


def test_plan_measures_what_capture_costs_in_comments_of_its_sql(run: Run, empty_database: str) -> None:
    measured = run("plan", "--measure")
    assert measured.returncode == 0
    assert "-- public.customer " in measured.stdout
    assert "-- public.customer: it has no statistics yet" in measured.stdout
    with psycopg.connect(empty_database) as conn:
        conn.execute(measured.stdout.partition("-- microseconds a row")[2].join(["--", ""]).encode())
    run("install")
    told = json.loads(run("plan", "--measure", "--json").stdout)
    assert told["changes"] == []
    [cost] = told["costs"]
    assert cost["table"] == "public.customer"
    assert all(each["with"] > 0 for each in cost["microsecondsARow"].values())
    assert told["unmeasured"] == []
    assert "costs" not in json.loads(run("plan", "--json").stdout)


def test_status_where_no_configuration_is_advises_none_that_would_be_refused(run: Run, tmp_path: Path) -> None:
    run("install")
    Path(tmp_path, "svc-pg.toml").rename(tmp_path / "moved.toml")
    said = run("status").stderr
    assert "There is no svc-pg.toml in this folder" in said
    assert "svc-pg install" not in said
    Path(tmp_path, "svc-pg.toml").write_text("", encoding="utf-8")
    assert "svc-pg install --prune" in run("status").stderr
    assert run("install").returncode == 1
    assert run("install", "--prune").returncode == 0
    assert run("status").returncode == 0


def test_status_says_where_a_table_has_gone(run: Run, empty_database: str, tmp_path: Path) -> None:
    run("install")
    with psycopg.connect(empty_database) as conn:
        conn.execute("alter table customer rename to client; create table other (id int primary key)")
    assert "hint: It is now public.client: name it so." in run("status").stderr
    Path(tmp_path, "svc-pg.toml").write_text(CONFIG.replace("public.customer", "public.other"), encoding="utf-8")
    assert "public.customer is now public.client. To go on recording it, name it so." in run("status").stderr
    Path(tmp_path, "svc-pg.toml").write_text(CONFIG.replace("public.customer", "public.client"), encoding="utf-8")
    assert run("install").returncode == 0
    assert run("status").returncode == 0


def test_what_a_table_leaves_out_of_the_log_is_said_wherever_the_table_is(run: Run, tmp_path: Path) -> None:
    rules = 'ignore = ["email"]\nrecord_when = { before = { email = "live" } }'
    Path(tmp_path, "svc-pg.toml").write_text(CONFIG.replace("[webhooks]", f"{rules}\n[webhooks]", 1), encoding="utf-8")
    said = 'no entry if only email changed; entries only when {"before": {"email": {"eq": "live"}}}'
    assert f"-- create function svc.capture_public_customer: {said}\n" in run("plan").stdout
    assert f"create  audit     public.customer: {said}" in run("install").stderr.splitlines()
    assert said in " ".join(run("status").stdout.replace("│", " ").split())
    objects = json.loads(run("status", "--json").stdout)["objects"]
    assert {entry["identity"] for entry in objects if entry["leavesOut"] == said} == {"svc.capture_public_customer"}


def test_verbose_lists_every_object(run: Run) -> None:
    installed = run("install", "--verbose").stderr
    assert "create  function  svc.send_many\n" in installed
    assert "create  function  svc.send(text, jsonb, text, text, interval, text, text)\n" in installed
    assert "create  trigger   00_svc_audit_write on public.customer\n" in installed
    objects = json.loads(run("status", "--json").stdout)["objects"]
    assert run("status", "--verbose").stdout.count("│") == 2 * len(objects)
    assert "remove  function  svc.send_many\n" in run("uninstall", "--verbose").stderr


def test_status_names_a_function_that_was_replaced_by_hand(run: Run, empty_database: str) -> None:
    run("install")
    with psycopg.connect(empty_database) as conn:
        conn.execute(
            "create or replace function svc.webhook_next_due(p_since timestamptz default now()) returns timestamptz"
            " language sql as 'select now()'"
        )
    found = run("status")
    assert found.returncode == 3
    assert "tampered" in found.stdout
    assert "svc.webhook_next_due" in found.stdout
    objects = json.loads(run("status", "--json").stdout)["objects"]
    assert [entry["identity"] for entry in objects if entry["state"] != "ok"] == ["svc.webhook_next_due"]


def test_plan_prints_sql_and_changes_nothing(run: Run, empty_database: str) -> None:
    planned = run("plan")
    assert planned.returncode == 0
    assert "create schema svc;" in planned.stdout
    assert planned.stderr.startswith("title: the records of public.customer are named by email\nGuessed unless conf")
    assert 'title = "column" of a table chooses' in planned.stderr
    with psycopg.connect(empty_database) as conn:
        assert scalar(conn, "select to_regnamespace('svc') is null")


def test_uninstall_keeps_data_and_drop_data_needs_a_yes(run: Run, empty_database: str, tmp_path: Path) -> None:
    run("install")
    assert run("uninstall").returncode == 0
    refused = run("uninstall", "--drop-data")
    assert (refused.returncode, refused.stderr.endswith("hint: Add --yes.\n")) == (1, True)
    denied = svc_pg(
        *("uninstall", "--drop-data"), folder=tmp_path, variables={"DATABASE_URL": empty_database}, read=b"n\n"
    )
    assert (denied.returncode, denied.stderr.endswith("Aborted.\n")) == (1, True)
    with psycopg.connect(empty_database) as conn:
        assert scalar(conn, "select to_regclass('svc.audit_logs') is not null")
    assert run("uninstall", "--drop-data", "--yes").returncode == 0
    with psycopg.connect(empty_database) as conn:
        assert scalar(conn, "select to_regnamespace('svc') is null")


def test_another_folder_cannot_switch_the_audit_off(run: Run, empty_database: str, tmp_path: Path) -> None:
    run("install")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    refused = svc_pg("install", folder=elsewhere, variables={"DATABASE_URL": empty_database})
    assert refused.returncode == 1
    assert "capture of public.customer" in refused.stderr
    assert "There is no svc-pg.toml in this folder" in refused.stderr
    assert "--prune" not in refused.stderr
    assert run("status").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["install", "--config", "missing.toml"], 1, "missing.toml: cannot be read"),
        (["install", "--config", "shop.svc:config"], 1, "cannot import 'shop.svc'"),
        (["install", "--database-url", "host=127.0.0.1 port=9"], 1, "error:"),
        (["install", "--unknown"], 2, "No such option"),
        (["worker", "--concurrency", "0"], 2, "concurrency"),
        (["webhooks", "add"], 2, "Missing option"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(run: Run, arguments: list[str], code: int, message: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_shows_the_traceback(run: Run) -> None:
    assert "Traceback" in run("--debug", "install", "--config", "missing.toml").stderr


def test_a_configuration_in_python_is_found_in_the_working_folder(run: Run, tmp_path: Path) -> None:
    Path(tmp_path, "shop.py").write_text(
        "from svc_pg import Config\nconfig = Config()\nconfig.audit.table('customer')\n", encoding="utf-8"
    )
    assert run("install", "--config", "shop:config").returncode == 0
    assert "public.customer" in run("status", "--config", "shop:config", "--json").stdout


def test_a_new_key_is_a_line_for_the_environment(run: Run) -> None:
    made = run("keys", "new", "encryption", "--id", "k7")
    name, _, value = made.stdout.strip().partition("=")
    assert name == "SVC_ENCRYPTION_KEYS"
    assert list(KeyRing.parse(value).keys) == ["k7"]


def test_without_a_key_nothing_is_added_and_the_command_that_makes_one_is_named(tmp_path: Path) -> None:
    arguments = ["webhooks", "add", "--url", "https://example.com", "--event", "*"]
    result = svc_pg(*arguments, folder=tmp_path)
    assert result.returncode == 1
    assert "svc-pg keys new encryption" in result.stderr


def test_an_endpoint_is_added_and_the_worker_delivers_to_it_until_sigterm(
    run: Run, empty_database: str, tmp_path: Path
) -> None:
    run("install")
    with receiving() as receiver:
        added = json.loads(run("webhooks", "add", "--url", receiver.url, "--event", "order.*", "--json").stdout)
        with psycopg.connect(empty_database) as conn:
            webhooks.send(conn, "order.created", {"id": 7})
        worker = subprocess.Popen(
            [PROGRAM, "worker"],
            cwd=tmp_path,
            env=environment(DATABASE_URL=empty_database, SVC_ENCRYPTION_KEYS=KEYS_TEXT),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            [request] = receiver.wait_for(1)
            wait_until(
                lambda: [row["status"] for row in rows(empty_database, "webhook_deliveries")] == ["delivered"],
                "the delivery is acknowledged",
            )
            worker.send_signal(signal.SIGTERM)
            _, words = worker.communicate(timeout=20)
        finally:
            worker.kill()
    assert worker.returncode == 0
    assert "started" in words
    assert "stopped" in words
    webhooks.assert_webhook_signature(headers=request.headers, body=request.body, secret=added["secret"])
