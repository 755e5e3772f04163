"""The commands hold, erase, and purge of what is kept by table."""

import getpass
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from svc_pg import audit
from tests.support.commands import svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

Run = Callable[..., Any]
CONFIG = """
[audit]
retention_days = 365
[[audit.tables]]
name = "customer"
retention_days = 3650
[[audit.tables]]
name = "orders"
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        ddl = "create table customer (id int primary key, name text); create table orders (id int primary key)"
        create_and_audit(conninfo, ddl, audited("customer", "orders"))
        with psycopg.connect(conninfo) as conn:
            conn.execute(
                "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
                " select t, 0, 'INSERT', r, now() - interval '500 days'"
                " from unnest(array['public.customer', 'public.orders']) t, unnest(array['5', '6']) r"
            )
            conn.execute("select svc.audit_ensure_partitions()")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    (tmp_path / "svc-pg.toml").write_text(CONFIG, encoding="utf-8")
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


def test_a_hold_is_placed_listed_and_lifted(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        name = sql.Identifier(conn.info.dbname)
        conn.execute(sql.SQL("alter database {} set default_transaction_isolation = 'serializable'").format(name))
    assert run("hold", "list").stderr == "No holds.\n"
    assert run("hold", "orders", "5", "--reason", "case\x1b 17").stderr == "placed hold 1 of public.orders 5\n"
    assert json.loads(run("hold", "customer", "--reason", "tax", "--json").stdout) == {"id": "2", "connected": 0}
    listed = run("hold", "list").stdout.splitlines()
    assert [line.partition("  ")[0] for line in listed] == ["public.customer", "public.orders 5"]
    assert f", by {getpass.getuser()}: case\\u001b 17" in listed[1]
    page = json.loads(run("hold", "list", "--limit", "1", "--json").stdout)
    assert [hold["tableName"] for hold in page["data"]] == ["public.customer"]
    assert run("hold", "list", "--after", page["nextCursor"]).stdout.splitlines() == listed[1:]
    assert run("hold", "orders", "5", "--lift", "--reason", "closed").stderr == "lifted hold 1\n"
    assert len(run("hold", "list").stdout.splitlines()) == 1
    assert ": closed" in run("hold", "list", "--all").stdout
    with psycopg.connect(database) as conn:
        entries = audit.query().resource("svc.audit_holds").list(conn).data
    assert {entry.actor_id for entry in entries} == {getpass.getuser()}


def test_a_table_without_a_key_is_held_as_a_whole_alone(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table notes (name text)")
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation) values ('public.notes', 0, 'INSERT')"
        )
    warning = 'warning: table "public.notes" has no key, so the log has no records of it, only changes'
    assert warning in run("hold", "notes", "5", "--reason", "x").stderr
    assert run("hold", "notes", "--reason", "x").stderr == "placed hold 2 of public.notes\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["orders", "5"], 2, "--reason"),
        (["orders", "99", "--reason", "x"], 1, "the log does not know a record 99"),
        (["order", "99", "--reason", "x"], 1, 'did you mean "public.orders"?'),
        (["nowhere", "--reason", "x"], 1, "is not audited and has no entries"),
        (["orders", "--lift", "--reason", "x"], 1, "is not held"),
        (["a.b.c", "--reason", "x"], 1, "not a table name"),
    ],
)
def test_what_cannot_be_held_is_told(run: Run, arguments: list[str], code: int, words: str) -> None:
    done = run("hold", *arguments)
    assert (done.returncode, words in done.stderr) == (code, True)


def test_a_purge_says_what_goes_by_table_and_what_is_held(run: Run) -> None:
    run("hold", "orders", "5", "--reason", "case 17")
    planned = run("purge", "--dry-run")
    kept = "held, so kept: public.orders 5\n"
    assert planned.stderr == f"would remove 1 entry of public.orders\n{kept}"
    assert run("purge").stderr == f"removed 1 entry of public.orders\n{kept}"
    assert run("purge").stderr == f"removed nothing\n{kept}"


def test_an_erasure_tells_that_the_row_is_still_there(run: Run, database: str) -> None:
    left = (
        "1 row is still in public.customer, as the log knows it: this erases the log alone\n"
        "Delete the rows first, and erase then: their deletion or change is recorded again.\n"
    )
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (7, 'Bob')")
    assert run("erase", "customer", "7", "--dry-run").stderr == f"would erase 1 entry of public.customer\n{left}"
    planned = json.loads(run("erase", "customer", "7", "--dry-run", "--json").stdout)
    assert planned["rowsLeft"] == {"public.customer": 1}
    done = run("erase", "customer", "7", "--yes")
    assert done.stderr == f"erasing 1 entry of public.customer\n{left}erased 1 entry\n"
    assert run("erase", "customer", "7", "--yes").stderr == f"{left}nothing is left to erase\n"
    with psycopg.connect(database) as conn:
        conn.execute("delete from customer where id = 7")
    assert run("erase", "customer", "7", "--yes").stderr == ("erasing 1 entry of public.customer\nerased 1 entry\n")


def test_an_erasure_is_shown_first_and_needs_a_yes(run: Run) -> None:
    planned = run("erase", "customer", "5", "--dry-run")
    assert planned.stderr == "would erase 1 entry of public.customer\n"
    asked = run("erase", "customer", "5")
    assert (asked.returncode, "Nothing brings this back" in asked.stderr) == (1, True)
    assert asked.stderr.endswith(
        "\nerror: nothing is done, because nobody can say yes\nhint: Add --yes, or --dry-run.\n"
    )
    assert asked.stdout == ""
    assert run("erase", "customer", "5", "--json").stderr == asked.stderr  # what is asked about is shown
    assert json.loads(run("erase", "customer", "5", "--yes", "--json").stdout) == {
        "tables": {"public.customer": 1},
        "entries": 1,
        "otherKeys": [],
        "rowsLeft": {},
        "isPartial": False,
        "isDryRun": False,
    }
    assert run("erase", "customer", "5", "--yes").stderr == "nothing is left to erase\n"
    unknown = run("erase", "customer", "99", "--yes")
    assert (unknown.returncode, "does not know a record 99" in unknown.stderr) == (1, True)
    run("hold", "orders", "5", "--reason", "case 17")
    for option in ("--dry-run", "--yes"):
        refused = run("erase", "orders", "5", option)
        assert (refused.returncode, refused.stderr.splitlines()[0]) == (
            1,
            'error: record 5 of "public.orders" cannot be erased, because of holds: public.orders 5',
        )
