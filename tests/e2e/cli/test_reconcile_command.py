"""The command reconcile."""

import json
import shlex
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import schema
from svc_pg.database.query import scalar
from tests.support.commands import running, svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

Run = Callable[..., Any]
RESTS = """
select exists (select from svc.audit_logs where label = 'found by reconciliation')
       and exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                      and state = 'idle' and clock_timestamp() - state_change > interval '500 ms')
"""
CONFIG = '[[audit.tables]]\nname = "customer"\n[[audit.tables]]\nname = "orders"\n'


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        ddl = "create table customer (id int primary key, name text); create table orders (id int primary key)"
        config = audited("customer", "orders")
        create_and_audit(conninfo, ddl, config)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute(
                "insert into customer select n, 'a' from generate_series(1, 3) n; insert into orders values (1)"
            )
            schema.backfill(conn, config)

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    (tmp_path / "svc-pg.toml").write_text(CONFIG, encoding="utf-8")
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


def unseen(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("set session_replication_role = replica")
        conn.execute("update customer set name = 'b' where id = 1; delete from customer where id = 2")
        conn.execute("insert into orders values (9)")


def test_it_says_that_all_is_known(run: Run) -> None:
    found = run("reconcile")
    assert (found.returncode, found.stdout) == (0, "")
    assert found.stderr == (
        "public.customer: 3 rows compared, all as the log knows them.\n"
        "public.orders: 1 row compared, all as the log knows them.\n"
    )


def test_it_lists_what_differs_and_repairs_it(run: Run, database: str) -> None:
    unseen(database)
    found = run("reconcile")
    assert found.returncode == 3
    assert [line.replace("│", "").split() for line in found.stdout.splitlines()[2:]] == [
        ["public.customer", "1", "differs", "in", "name"],
        ["public.customer", "2", "in", "the", "log", "only"],
        ["public.orders", "9", "missing", "in", "the", "log"],
    ]
    assert found.stderr == (
        "public.customer: 2 rows compared, 1 differs, 1 in the log only.\n"
        "public.orders: 2 rows compared, 1 missing in the log (1 without any entry).\n"
        "Rows without any entry are older than the capture, or came while no trigger fired.\n"
        "To record what differs: svc-pg reconcile --repair\n"
    )
    repaired = run("reconcile", "--repair", "--limit", "0")
    assert (repaired.returncode, repaired.stdout) == (0, "")
    assert repaired.stderr == (
        "public.customer: 2 rows compared, 1 differs, 1 in the log only.\n"
        "  2 entries written.\n"
        "public.orders: 2 rows compared, 1 missing in the log (1 without any entry).\n"
        "  1 entry written.\n"
    )
    assert run("reconcile").returncode == 0
    told = run("log", "--table", "customer", "--limit", "2").stdout
    assert told.count("(actor and time not known)") == 2
    assert "GONE" in told
    assert "found changed" in run("blame", "customer", "1").stdout
    assert "(actor and time not known)  GONE" in run("history", "customer", "2").stdout


def test_status_tells_what_was_found_until_it_is_repaired(run: Run, database: str) -> None:
    unseen(database)
    assert run("status").returncode == 0
    assert json.loads(run("status", "--json").stdout)["reconciliation"] == []
    run("reconcile")
    found = run("status")
    assert found.returncode == 3
    told = [line for line in found.stderr.splitlines() if "not repaired" in line]
    assert [line.partition(" the comparison of ")[0] for line in told] == [
        "public.customer: 2 differences from the log are not repaired;",
        "public.orders: 1 difference from the log is not repaired;",
    ]
    assert told[0].endswith(" found 1 different, 1 in the log only.")
    assert "To see them: svc-pg reconcile. To record what differs: svc-pg reconcile --repair\n" in found.stderr
    document = json.loads(run("status", "--json").stdout)
    assert document["isOk"] is False
    [customer, orders] = document["reconciliation"]
    assert {**customer, "foundAt": None} == {
        "table": "public.customer", "foundAt": None, "unrepaired": 2, "missing": 0, "differing": 1, "gone": 1
    }  # fmt: skip
    assert orders["missing"] == 1
    run("reconcile", "--repair")
    again = run("status", "--json")
    assert (again.returncode, json.loads(again.stdout)["reconciliation"]) == (0, [])


def test_nothing_that_could_be_compared_is_no_success(run: Run, database: str, tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text('[[audit.tables]]\nname = "bare"\n', encoding="utf-8")
    with psycopg.connect(database) as conn:
        conn.execute("create table bare (a int)")
    run("install", "--prune")
    found = run("reconcile")
    assert (found.returncode, found.stdout) == (3, "")
    assert "No table could be compared, so nothing is known of them.\n" in found.stderr


def test_one_that_was_interrupted_tells_the_command_that_goes_on_as_it_began(
    run: Run, database: str, tmp_path: Path
) -> None:
    unseen(database)
    words = tmp_path / "words"
    command = ("reconcile", "--repair", "--table", "customer", "--nice-ratio", "100", "--config", "svc-pg.toml")
    with psycopg.connect(database, autocommit=True) as conn, words.open("w") as told:
        conn.execute("insert into customer select n, 'a' from generate_series(10, 20000) n")
        with running(*command, folder=tmp_path, variables={"DATABASE_URL": database}, stderr=told) as process:
            wait_until(lambda: scalar(conn, RESTS) or None, "it rests after a piece")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 130
    told_command = words.read_text().removeprefix("To go on from here: ").strip()
    assert shlex.split(told_command)[:5] == ["svc-pg", "reconcile", "--repair", "--table", "customer"]
    rest = run(*shlex.split(told_command)[1:])
    assert rest.returncode == 0
    assert "19,993 rows compared, 1 differs, 1 in the log only.\n  2 entries written." in rest.stderr


def test_json_has_all_numbers(run: Run, database: str) -> None:
    unseen(database)
    found = run("reconcile", "--table", "orders", "--json")
    assert found.returncode == 3
    told = json.loads(found.stdout)
    assert told["isWhole"] is False
    assert told["after"] is None
    [table] = told["tables"]
    assert (table["table"], table["rows"], table["missing"], table["unrecorded"]) == ("public.orders", 2, 1, 1)
    [difference] = told["differences"]
    assert difference == {"table": "public.orders", "recordId": "9", "kind": "missing", "fields": []}


def test_wrong_usage_is_told(run: Run) -> None:
    assert run("reconcile", "--table", "nothing").returncode == 1
    assert "is not a cursor" in run("reconcile", "--after", "x").stderr
    assert run("reconcile", "--nice-ratio", "101").returncode == 2


def test_it_compares_a_file_of_sqlite(tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text(CONFIG, encoding="utf-8")
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as conn:
        conn.executescript(
            "create table customer (id int primary key, name text); create table orders (id int primary key)"
        )

        def run(*arguments: str) -> Any:
            return svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": f"sqlite:///{file}"})

        conn.execute("insert into customer values (1, 'a'), (2, 'b')")
        assert run("install").returncode == 0
        found = run("reconcile", "--table", "customer")
        assert found.returncode == 3
        assert found.stderr == (
            "main.customer: 2 rows compared, 2 missing in the log (2 without any entry).\n"
            "Rows without any entry are older than the capture, or came while no trigger fired.\n"
            "To record what differs: svc-pg reconcile --repair\n"
        )
        repaired = run("reconcile", "--repair")
        assert (repaired.returncode, "2 entries written" in repaired.stderr) == (0, True)
        assert run("reconcile").returncode == 0
        told = run("log", "--table", "customer")
        assert told.stdout.count("(actor and time not known)") == 2
