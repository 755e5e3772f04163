import csv
import getpass
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyarrow import parquet

from cli import main
from cli.progress import words
from svc_pg import Config, audit
from svc_pg.audit.keep import purging
from svc_pg.database.query import scalar
from tests.support.commands import PROGRAM, Process, environment, running, svc_pg
from tests.support.postgres import Prepare
from tests.support.roles import execute, new_role
from tests.support.tables import create_and_audit
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Three entries: a customer came, was renamed and went."""

    def prepare(conninfo: str) -> None:
        rule = {"label": "gone", "severity": "high", "compliance": ["gdpr"]}
        table = {"name": "customer", "enrich": [{"operation": "DELETE", **rule}]}
        config = Config.model_validate({"audit": {"tables": [table]}})
        create_and_audit(conninfo, "create table customer (id int primary key, name text)", config)
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "alice", tenant="acme"):
            conn.execute("insert into customer values (1, 'a')")
            conn.execute("update customer set name = '=2+2'")
            conn.execute("delete from customer")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    """Run a command on a database with those entries."""
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


def test_an_export_is_an_array_of_entries(run: Run) -> None:
    done = run("export", "--since", "1h", "--format", "json")
    assert done.returncode == 0
    assert [entry["operation"] for entry in json.loads(done.stdout)] == ["INSERT", "UPDATE", "DELETE"]
    assert done.stderr.startswith("3 entries.")


def test_an_export_of_nothing_is_an_empty_array(run: Run) -> None:
    done = run("export", "--since", "1h", "--table", "nothing")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--operation", "update"], ["UPDATE"]),
        (["--table", "customer", "--record", "1"], ["INSERT", "UPDATE", "DELETE"]),
        (["--actor", "bob"], []),
        (
            ["--actor", "bob", "--actor", "alice", "--operation", "insert", "--operation", "DELETE"],
            ["INSERT", "DELETE"],
        ),
        (["--table", "nothing", "--table", "customer", "--changed", "name"], ["UPDATE"]),
        (["--tenant", "acme", "--tenant", "other"], ["INSERT", "UPDATE", "DELETE"]),
        (["--tenant", "other"], []),
        (["--label", "gone"], ["DELETE"]),
        (["--min-severity", "medium"], ["DELETE"]),
        (["--min-severity", "CRITICAL"], []),
        (["--severity", "critical", "--severity", "low"], []),
        (["--not-operation", "insert", "--not-operation", "UPDATE"], ["DELETE"]),
        (["--not-table", "customer"], []),
        (["--compliance", "gdpr", "--compliance", "soc2"], ["DELETE"]),
        (["--until", "2020-01-01T00:00:00Z"], []),
        (["--since", "2020-01-01T00:00:00+01:00"], ["INSERT", "UPDATE", "DELETE"]),
        (["--between", "2020-01-01 to 9999-12-31"], ["INSERT", "UPDATE", "DELETE"]),
        (["--between", "2020-01-01 10:00 to 11:00"], []),
    ],
)
def test_an_export_is_filtered(run: Run, options: list[str], expected: list[str]) -> None:
    assert [entry["operation"] for entry in json.loads(run("export", *options).stdout)] == expected


def test_csv_and_ndjson_go_to_a_file(run: Run, tmp_path: Path) -> None:
    done = run("export", "--format", "csv", "--to", "log.csv")
    assert (done.returncode, done.stdout) == (0, "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "log.csv").read_bytes().decode(), newline="")))
    assert [row["recordId"] for row in rows] == ["1", "1", "1"]
    assert run("export", "--format", "ndjson", "--to", "log.ndjson").returncode == 0
    lines = (tmp_path / "log.ndjson").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["actorId"] for line in lines] == ["alice"] * 3


def test_parquet_goes_to_a_file_or_a_pipe(run: Run, database: str, tmp_path: Path) -> None:
    assert run("export", "--format", "parquet", "--to", "log.parquet").returncode == 0
    command = (PROGRAM, "export", "--format", "parquet")
    piped = subprocess.run(command, env=environment(DATABASE_URL=database), capture_output=True, check=True)
    for content in ((tmp_path / "log.parquet").read_bytes(), piped.stdout):
        rows = parquet.read_table(io.BytesIO(content)).to_pylist()
        assert [(row["recordId"], row["operation"]) for row in rows] == [
            ("1", "INSERT"),
            ("1", "UPDATE"),
            ("1", "DELETE"),
        ]


def test_parquet_is_not_written_to_a_terminal(database: str) -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [PROGRAM, "export", "--format", "parquet"],
            env=environment(DATABASE_URL=database),
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, "name a file with --to" in done.stderr) == (2, True)


def all_of(terminal: int) -> str:
    """The text that was written to a terminal whose other end is closed. Closes it. One read may give a part."""
    shown = b""
    with suppress(OSError):  # as Linux tells the end
        while part := os.read(terminal, 65_536):
            shown += part
    os.close(terminal)
    return shown.decode()


def test_progress_is_shown_at_a_terminal(database: str, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with (tmp_path / "log").open("wb") as file:
        done = subprocess.run(
            [PROGRAM, "export"], env=environment(DATABASE_URL=database, TERM="xterm"), stdout=file, stderr=theirs
        )
    os.close(theirs)
    shown = all_of(ours)
    assert done.returncode == 0
    assert re.search("3 entries.*3 entries. To go on", shown, re.DOTALL)
    assert len(json.loads((tmp_path / "log").read_bytes())) == 3


def test_progress_tells_the_rate_and_the_remaining_time() -> None:
    assert words(10_000, seconds=0.5, expected=20_000) == "10,000 entries"
    assert words(10_000, seconds=2, expected=25_000) == "10,000 of about 25,000 entries, 5,000 a second, 0:00:03 left"
    assert words(30_000, seconds=2, expected=25_000) == "30,000 entries, 15,000 a second"
    assert words(0, seconds=9, expected=25_000) == "0 entries"
    assert words(7, seconds=7) == "7 entries, 1 a second"


def test_an_export_goes_on_where_the_last_one_ended(run: Run, database: str) -> None:
    number = run("export").stderr.split("--after ")[1].split()[0]
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (2)")
    assert [entry["recordId"] for entry in json.loads(run("export", "--after", number).stdout)] == ["2"]


def test_what_a_running_transaction_holds_back_is_said_and_can_be_had(run: Run, database: str) -> None:
    with psycopg.connect(database) as slow:
        slow.execute("insert into customer values (8)")
        with psycopg.connect(database) as conn:
            conn.execute("insert into customer values (9)")
        settled = run("export")
        everything = run("export", "--unsettled")
    assert len(json.loads(settled.stdout)) == 3
    assert "Left out: 1 newer entry, because" in settled.stderr
    assert len(json.loads(everything.stdout)) == 4


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["export", "--format", "xml"], 2, "xml"),
        (["export", "--operation", "PURGE"], 1, "'PURGE' is not an operation"),
        (["export", "--table", "a.b.c"], 1, "'a.b.c' is not a table name"),
        (["export", "--to", "nowhere/log.json"], 1, "nowhere/log.json cannot be written"),
        (["export", "--to", "."], 1, "cannot be written"),
        (["export", "--actor", "\udcff"], 1, "lone surrogate"),
        (["log", "--limit", "0"], 2, "limit"),
        (["purge"], 1, "pass an age: --older-than 365d"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_a_hint(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["export"], ["log"], ["log", "--follow"], ["purge", "--older-than", "90d"]])
def test_a_database_without_svc_is_named_as_such(empty_database: str, tmp_path: Path, command: list[str]) -> None:
    done = svc_pg(*command, folder=tmp_path, variables={"DATABASE_URL": empty_database})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("hint: Run: svc-pg install\n")


def test_an_export_since_a_date_or_several_units_is_accepted(run: Run) -> None:
    for since in ("2026-01-31", "1h30m", "1y"):
        assert run("export", "--since", since).returncode == 0


def test_the_log_is_shown_with_the_newest_last(run: Run) -> None:
    lines = run("log").stdout.splitlines()
    assert [line.split()[3] for line in lines] == ["INSERT", "UPDATE", "DELETE"]
    assert lines[1].endswith('  alice  UPDATE    public.customer  1  name: "a" -> "=2+2"')
    assert [line.split()[3] for line in run("log", "--limit", "1").stdout.splitlines()] == ["DELETE"]


def test_an_empty_log_is_said_and_is_no_json(run: Run) -> None:
    assert run("log", "--actor", "eve").stderr == "No entries.\n"
    assert run("log", "--actor", "eve", "--json").stderr == ""


@pytest.mark.parametrize(("variables", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_log_has_colours_at_a_terminal_unless_the_environment_says_no(
    database: str, variables: dict[str, str], *, is_coloured: bool
) -> None:
    ours, theirs = os.openpty()
    coloured = environment(DATABASE_URL=database, TERM="xterm", **variables)
    done = subprocess.run([PROGRAM, "log"], env=coloured, stdout=theirs)
    os.close(theirs)
    shown = all_of(ours)
    assert (done.returncode, "UPDATE" in shown, "\x1b[" in shown) == (0, True, is_coloured)


@pytest.mark.parametrize("command", ["log", "export"])
def test_a_table_that_nobody_knows_is_said_with_the_nearest_that_is_audited(run: Run, command: str) -> None:
    warning = 'warning: table "{}" does not exist, is not audited and has no entries{}\n'
    for table, whole, advice in (
        ("public.custmer", "public.custmer", '; did you mean "public.customer"?'),
        ("shop.customer", "shop.customer", '; did you mean "public.customer"?'),
        ("zzz", "public.zzz", ""),
    ):
        done = run(command, "--table", table)
        assert done.returncode == 0
        assert done.stderr.startswith(warning.format(whole, advice))
        assert done.stdout.strip() in ("", "[]")


def test_a_table_that_is_there_or_was_is_known(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table empty (id int); drop table customer")
    not_audited = 'warning: table "public.empty" is not audited and has no entries\nNo entries.\n'
    for table, told in (("customer", ""), ("empty", not_audited)):
        assert run("log", "--table", table).stderr == told


def test_the_log_ends_before_a_time_and_tells_changes_without_an_actor(run: Run) -> None:
    assert run("log", "--until", "2020-01-01").stderr == "No entries.\n"
    assert len(run("log", "--until", "2100-01-01", "--json").stdout.splitlines()) == 3
    said = run("log", "--missing", "actor", "--json").stdout
    assert said == run("log", "--no-actor", "--json").stdout
    lines = [json.loads(line) for line in said.splitlines()]
    assert {line["actorId"] for line in lines} <= {None}
    every = [json.loads(line) for line in run("log", "--json").stdout.splitlines()]
    assert len(lines) == sum(line["actorId"] is None for line in every)
    for option in (["--missing", "actor"], ["--no-actor"]):
        refused = run("log", *option, "--actor", "ann")
        assert (refused.returncode, option[0] in refused.stderr) == (2, True)
    assert run("log", "--follow", "--until", "1h").returncode == 2


def test_who_may_only_read_the_log_is_told_without_the_nearest(run: Run, database: str, postgres: str) -> None:
    with new_role(postgres) as role:
        execute(database, "grant svc_reader to {}", role)
        done = run("log", "--table", "custmer", "--database-url", make_conninfo(database, user=role))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("does not exist, is not audited and has no entries\nNo entries.\n")


@pytest.mark.usefixtures("run")
def test_following_a_table_that_nobody_knows_is_said_at_once(database: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    with output.open("w") as words:
        command = ("log", "--follow", "--table", "custmer")
        with running(*command, folder=tmp_path, variables={"DATABASE_URL": database}, stderr=words) as process:
            wait_until(lambda: "did you mean" in output.read_text(), "it is said")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0


def test_the_log_as_json_is_an_object_a_line(run: Run) -> None:
    lines = [json.loads(line) for line in run("log", "--json").stdout.splitlines()]
    assert [line["operation"] for line in lines] == ["INSERT", "UPDATE", "DELETE"]
    assert lines == json.loads(run("export").stdout)


def test_nothing_in_the_log_can_steer_the_terminal(run: Run, database: str) -> None:
    hostile = "\x1b[2J\u202e\nforged line"
    with psycopg.connect(database) as conn, audit.actor(conn, hostile):
        conn.execute("insert into customer values (2, %s)", (hostile,))
        conn.execute("update customer set name = %s || 'x'", (hostile,))
    shown = run("log").stdout
    assert len(shown.splitlines()) == 5
    assert all(character.isprintable() for line in shown.splitlines() for character in line)
    assert r"\u001b[2J\u202e\nforged line" in shown


def test_values_that_python_cannot_read_do_not_stop_the_log(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("alter table customer add data jsonb")
        conn.execute("insert into customer values (3, 'c', '{}')")
        conn.execute("update customer set data = (repeat('[', 5000) || repeat(']', 5000))::jsonb where id = 3")
        conn.execute("update customer set data = repeat('9', 5000)::jsonb where id = 3")
    too_deep = "data: (nested too deeply to be compared)"
    for shown in (run("log").stdout, run("history", "customer", "3").stdout):
        assert len([line for line in shown.splitlines() if too_deep in line]) == 2


@contextmanager
def following(database: str, folder: Path, *options: str) -> Iterator[tuple[Process, list[str]]]:
    """A ``log --follow`` under way, and the lines that it has printed so far, errors among them."""
    with running(
        *("log", "--follow", *options),
        folder=folder,
        variables={"DATABASE_URL": database},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines: list[str] = []
        reader = Thread(target=lambda: lines.extend(process.stdout or []))
        reader.start()
        try:
            yield process, lines
        finally:
            process.kill()
            reader.join()


@pytest.mark.usefixtures("run")
def test_following_shows_a_slow_transaction_too_and_ends_with_ctrl_c(database: str, tmp_path: Path) -> None:
    with following(database, tmp_path, "--json", "--limit", "1") as (process, lines):
        with psycopg.connect(database) as slow, psycopg.connect(database) as quick:
            slow.execute("insert into customer values (5)")
            quick.execute("insert into customer values (6)")
            quick.commit()
            wait_until(lambda: len(lines) == 1, "the newest entry is shown")
            slow.commit()
            wait_until(lambda: len(lines) == 3, "both transactions are shown")
            quick.execute("insert into customer values (7)")
            quick.commit()
        wait_until(lambda: len(lines) == 4, "the last one is shown")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
    assert [json.loads(line)["recordId"] for line in lines] == ["1", "5", "6", "7"]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("command", ["export --format ndjson", "log --limit 1000", "log --follow --limit 1000"])
def test_a_reader_that_leaves_ends_it_quietly(database: str, tmp_path: Path, command: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer select n, repeat('x', 500) from generate_series(2, 3000) n")
    with running(
        *command.split(),
        folder=tmp_path,
        variables={"DATABASE_URL": database},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == b""


def old_entries(database: str) -> None:
    with psycopg.connect(database) as conn:
        for month in (1, 2):
            conn.execute(
                "insert into svc.audit_logs (table_name, table_oid, operation, timestamp)"
                " values ('t', 0, 'INSERT', %s)",
                (datetime(2020, month, 3, tzinfo=UTC),),
            )
        conn.execute("select svc.audit_ensure_partitions()")


def test_purge_removes_what_is_older_than_the_configuration_says(run: Run, database: str, tmp_path: Path) -> None:
    old_entries(database)
    (tmp_path / "svc-pg.toml").write_text("[audit]\nretention_days = 365\n", encoding="utf-8")
    planned = run("purge", "--dry-run")
    assert (planned.returncode, planned.stdout) == (0, "")
    assert "would drop svc.audit_logs_2020_01" in planned.stderr
    done = run("purge")
    assert done.returncode == 0
    assert "dropped svc.audit_logs_2020_02" in done.stderr
    with psycopg.connect(database) as conn:
        actors = conn.execute(
            "select distinct actor_id from svc.audit_logs where label = 'audit log purged'"
        ).fetchall()
    assert actors == [(getpass.getuser(),)]
    assert len(json.loads(run("export", "--table", "customer").stdout)) == 3


def test_purge_takes_an_age_and_reports_as_json(run: Run, database: str) -> None:
    old_entries(database)
    report = json.loads(run("purge", "--older-than", "52w", "--json").stdout)
    assert report.pop("before").endswith("Z")
    assert report == {
        "partitions": ["svc.audit_logs_2020_01", "svc.audit_logs_2020_02"],
        "partitionEntries": {"svc.audit_logs_2020_01": 1, "svc.audit_logs_2020_02": 1},
        "entries": 0,
        "tables": {},
        "databases": {},
        "postponed": [],
        "held": [],
        "unsealedSince": None,
        "isDryRun": False,
    }


def test_purge_exits_with_1_where_something_stays_locked(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old_entries(database)
    monkeypatch.setattr(purging, "TRIES", 2)  # the reader's locks stay
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "argv", ["svc-pg", "purge", "--older-than", "52w", "--database-url", database])
    with psycopg.connect(database) as reader:
        reader.execute("select count(*) from svc.audit_logs")
        with pytest.raises(SystemExit) as end:
            main()
        assert scalar(reader, "select count(*) from svc.audit_logs where table_name = 't'") == 2
    assert end.value.code == 1
    assert "not removed, because others kept using it: svc.audit_logs_2020_01" in capsys.readouterr().err
