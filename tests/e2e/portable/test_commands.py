"""The commands log, export and purge by the address, and those that need PostgreSQL."""

import getpass
import io
import json
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from svc_pg import audit
from tests.support.commands import running, svc_pg
from tests.support.logs import Log
from tests.support.selections import NOW
from tests.support.waiting import wait_until

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call(log: Log, tmp_path: Path) -> Call:
    """Runs a command with the address of the log."""
    return lambda *arguments: svc_pg(*arguments, "--database-url", log.url, folder=tmp_path)


def test_the_log_shows_the_newest_entries_last(log: Log, conn: Any, call: Call) -> None:
    log.write(conn, "1", actor_id="ann", before_data={"a": 1}, after_data={"a": 2}, changed_fields=["a"])
    log.write(conn, "2", operation="DELETE", table_name="other.x")
    shown = call("log", "--all-databases")
    assert shown.returncode == 0, shown.stderr
    first, second = shown.stdout.splitlines()
    assert first.startswith("2026-03-15 12:01:00Z  ann")
    assert first.endswith("a: 1 -> 2")
    assert "nobody named" in second
    only = call("log", "--table", "t", "--json")
    assert json.loads(only.stdout)["recordId"] == "1"


def test_an_unknown_table_is_warned_of(log: Log, conn: Any, call: Call) -> None:
    log.write(conn, "1")
    assert "warning" not in call("log", "--table", "t").stderr
    assert 'table "public.tt" does not exist' in call("log", "--table", "tt").stderr


def test_a_purge_counts_by_database_if_it_is_of_all(log: Log, conn: Any, call: Call) -> None:
    for record, table in (("1", f"{log.schema}.t"), ("2", "other.x"), ("3", "files")):
        log.write(conn, record, table_name=table, timestamp=NOW - timedelta(days=400))
    said = call("purge", "--older-than", "365d", "--dry-run", "--all-databases").stderr
    counts = f"no database: 1 entry, {', '.join(f'{name}: 1 entry' for name in sorted([log.schema, 'other']))}"
    assert (counts in said) == (not isinstance(log.at, Path))


def test_an_export_follows_and_goes_on_after_a_signal(log: Log, conn: Any, call: Call, tmp_path: Path) -> None:
    file = tmp_path / "followed"

    def follow(count: int) -> None:
        command = ("export", "--follow", "--cursor", "cursor", "--to", "followed", "--table", "t")
        with running(*command, folder=tmp_path, variables={"DATABASE_URL": log.url}) as process:
            wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") >= count, f"{count} are written")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0

    for record in range(1, 1003):
        log.write(conn, str(record), timestamp=NOW)
    follow(1002)
    log.write(conn, "1003", timestamp=datetime.now(UTC))
    log.write(conn, "1004", timestamp=datetime.now(UTC), table_name="other.x")
    follow(1003)
    out = io.BytesIO()
    audit.export(conn, audit.query().resource("t"), format="ndjson", out=out, is_settled=False)
    assert file.read_bytes() == out.getvalue()
    kept = json.loads((tmp_path / "cursor").read_text())
    (tmp_path / "cursor").write_text(json.dumps(kept | {"log": "2026-01-01 00:00:00"}))
    refused = call("export", "--follow", "--cursor", "cursor", "--to", "followed", "--table", "t")
    assert "the log of another database was read, whose first install was at 2026-01-01" in refused.stderr
    assert file.read_bytes() == out.getvalue()
    parquet_file = tmp_path / "log.parquet"
    with parquet_file.open("wb") as out_file:
        assert (
            audit.export(
                conn, audit.query().of_any_database(), format="parquet", out=out_file, is_settled=False
            ).entries
            == 1004
        )
    assert [row["recordId"] for row in parquet.read_table(parquet_file).to_pylist()][-1] == "1004"


def test_an_export_is_what_the_library_writes(log: Log, conn: Any, call: Call, tmp_path: Path) -> None:
    log.write(conn, "1", description="=1+1")
    file = tmp_path / "log.csv"
    done = call("export", "--format", "csv", "--to", str(file))
    assert done.returncode == 0, done.stderr
    assert "1 entry. To go on from here next time: --after" in done.stderr
    cursor = done.stderr.split("--after ")[1].split()[0]
    assert "'=1+1" in file.read_text()
    log.write(conn, "2", timestamp=datetime.now(UTC) + timedelta(seconds=1))
    more = call("export", "--format", "ndjson", "--after", cursor, "--unsettled")
    assert [json.loads(line)["recordId"] for line in more.stdout.splitlines()] == ["2"]


def test_a_purge_names_the_operator(log: Log, conn: Any, call: Call) -> None:
    log.write(conn, "1", timestamp=NOW - timedelta(days=400))
    planned = call("purge", "--older-than", "365d", "--dry-run").stderr.splitlines()
    assert [line.partition(" of ")[0] for line in planned] == ["would remove 1 entry"]
    done = call("purge", "--older-than", "365d", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["entries"] == 1
    [about] = audit.query().list(conn)
    assert about.actor_id == getpass.getuser()
    assert about.context is not None
    assert about.context.value == {"program": "svc-pg"}


def test_a_database_that_is_not_there_is_named(log: Log, tmp_path: Path) -> None:
    wrong = svc_pg("log", "--database-url", log.url + ".gone", folder=tmp_path)
    assert wrong.returncode == 1
    assert "Traceback" not in wrong.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["send", "customer.updated", "{}"],
        ["hold", "customer", "7"],
        ["worker"],
        ["serve"],
        ["webhooks", "list"],
        ["console", "sessions"],
        ["seal"],
        ["verify"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("url", ["sqlite:///shop.db", "mysql+asyncmy://u:geheim@h/shop", "mariadb://h/shop"])
def test_what_needs_postgresql_says_so(command: list[str], url: str, tmp_path: Path) -> None:
    refused = svc_pg(*command, "--database-url", url, folder=tmp_path)
    assert refused.returncode == 2, refused.stderr
    words = " ".join(refused.stderr.replace("│", " ").split())
    assert "this command needs PostgreSQL" in words
    assert "geheim" not in refused.stderr


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        (["history", "customer", "7"], "svc-pg log --table customer --record 7 shows the changes there"),
        (["blame", "customer", "[1, 2]"], "svc-pg log --table customer --record '[1, 2]' shows"),
        (["as-of", "1h", "customer"], "svc-pg log --table customer shows"),
        (["diff", "5"], "svc-pg log --table TABLE shows"),
    ],
)
@pytest.mark.parametrize("url", ["sqlite:///shop.db", "mysql://h/shop", "mariadb://h/shop"])
def test_what_shows_a_record_on_postgresql_names_the_command_for_others(
    command: list[str], instead: str, url: str, tmp_path: Path
) -> None:
    refused = svc_pg(*command, "--database-url", url, folder=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert instead in " ".join(refused.stderr.replace("│", " ").split())


def test_a_file_of_sqlite_without_a_log_says_how_to_install(log: Log, tmp_path: Path) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("of SQLite")
    with closing(sqlite3.connect(tmp_path / "new.db")) as new:
        new.execute("create table t (id integer primary key)")
    refused = svc_pg("log", "--database-url", f"sqlite:///{tmp_path / 'new.db'}", folder=tmp_path)
    assert refused.returncode == 1
    assert "svc-pg install" in refused.stderr
