"""The command ``export --follow``."""

import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import Event

import psycopg
import pytest

from cli.checkpoint import Checkpoint
from svc_pg import audit
from svc_pg.audit.exports.following import identity
from svc_pg.audit.read.log_position import Position
from svc_pg.database.pagination import encode
from tests.support import killed_export
from tests.support.commands import PROGRAM, Process, environment, running, svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Three entries of a customer."""

    def prepare(conninfo: str) -> None:
        create_and_audit(
            conninfo,
            "create table customer (id int primary key, name text); create table other (id int primary key)",
            audited("customer", "other"),
        )
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "alice", tenant="acme"):
            conn.execute("insert into customer values (1, 'a')")
            conn.execute("update customer set name = 'b'")
            conn.execute("delete from customer")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


def exported(database: str) -> list[str]:
    """All entries, as an export writes them."""
    out = io.BytesIO()
    with psycopg.connect(database) as conn:
        audit.export(conn, audit.query(), format="ndjson", out=out, is_settled=False)
    return out.getvalue().decode().splitlines()


def following(database: str, folder: Path, *options: str, stdout: int | None = None) -> AbstractContextManager[Process]:
    command, variables = ("export", "--follow", *options), {"DATABASE_URL": database}
    return running(*command, folder=folder, variables=variables, stdout=stdout, stderr=subprocess.PIPE)


def lines_of(file: Path) -> list[str]:
    """The whole lines of a file that grows."""
    return file.read_text(encoding="utf-8").rpartition("\n")[0].splitlines() if file.exists() else []


def test_nothing_is_lost_beside_eight_writers_though_the_export_is_killed_ten_times(
    database: str, tmp_path: Path
) -> None:
    is_over = Event()

    def write(writer: int) -> None:
        chance, written = random.Random(writer), 0
        with psycopg.connect(database) as conn:
            while not is_over.is_set():
                for _ in range(chance.randint(1, 20)):
                    conn.execute("insert into customer values (%s, %s)", (writer * 1_000_000 + written, "x" * 100))
                    written += 1
                if chance.random() < 0.2:
                    conn.execute("select pg_sleep(0.03)")  # a transaction that commits later than younger ones
                conn.rollback() if chance.random() < 0.1 else conn.commit()

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(8))
        stack.callback(is_over.set)
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-P", killed_export.__file__, "10"],
                cwd=tmp_path,
                env=environment(DATABASE_URL=database),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(process.kill)
        writers = [pool.submit(write, number) for number in range(1, 9)]
        assert process.stdout
        assert process.stdout.readline() == "killed\n"
        is_over.set()
        for writer in writers:
            writer.result(timeout=30)
        with psycopg.connect(database) as conn:
            conn.execute("insert into other values (1)")  # the last run writes at least this one
        expected = exported(database)
        file = tmp_path / "log.ndjson"
        wait_until(lambda: len({*lines_of(file)}) >= len(expected), "all entries are written")
        assert process.communicate("\n", timeout=30)[0] == "0\n"
    content = file.read_text(encoding="utf-8")
    assert content.endswith("}\n")
    assert {*content.splitlines()} == {*expected}
    assert len(expected) > 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cursor", "log.ndjson"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_between_two_lines_and_the_next_run_goes_on_there(
    database: str, tmp_path: Path, ending: signal.Signals
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer select n, repeat('x', 1000) from generate_series(1, 20000) n")
    with following(database, tmp_path, "--cursor", "cursor", stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        read = process.stdout.read(500_000)  # the rest waits: a pipe takes 64 KiB
        process.send_signal(ending)
        read += process.stdout.read()
        assert process.wait(timeout=20) == 0
        assert process.stderr.read().decode() == f"{read.decode().count(chr(10)):,} entries.\n"
    first = read.decode().splitlines(keepends=True)
    assert first[-1].endswith("}\n")
    assert len(first) < 20_000
    rest = tmp_path / "rest"
    with following(database, tmp_path, "--cursor", "cursor", "--to", "rest") as process:
        wait_until(lambda: len(lines_of(rest)) + len(first) >= 20_003, "the rest is written")
        process.send_signal(ending)
        assert process.wait(timeout=20) == 0
    assert "".join(first).splitlines() + lines_of(rest) == exported(database)


def test_the_filters_hold_and_a_slow_transaction_is_waited_for(database: str, tmp_path: Path) -> None:
    options = ("--table", "customer", "--table", "other", "--operation", "insert", "--after", end(database))
    file = tmp_path / "log"
    with (
        psycopg.connect(database) as slow,
        psycopg.connect(database) as quick,
        following(database, tmp_path, *options, "--to", "log") as process,
    ):
        slow.execute("insert into customer values (5)")
        quick.execute("insert into other values (6)")
        quick.execute("delete from other")
        quick.commit()
        slow.execute("insert into other values (7)")
        slow.commit()
        wait_until(lambda: len(lines_of(file)) == 3, "both transactions are written")
        process.send_signal(signal.SIGTERM)
        assert process.stderr
        said = process.stderr.read()
        assert process.wait(timeout=20) == 0, said
    assert sorted(json.loads(line)["recordId"] for line in lines_of(file)) == ["5", "6", "7"]


def end(database: str) -> str:
    with psycopg.connect(database) as conn:
        return audit.export(conn, audit.query(), out=io.BytesIO()).horizon


def test_half_a_line_that_a_kill_left_is_cut_by_the_next_run(database: str, tmp_path: Path) -> None:
    file, cursor = tmp_path / "log", tmp_path / "cursor"
    whole = exported(database)
    file.write_text(f"{whole[0]}\n{whole[1][:30]}")
    cursor.write_text(checkpoint(database, "start"))
    with following(database, tmp_path, "--cursor", "cursor", "--to", "log") as process:
        wait_until(lambda: len(lines_of(file)) == 4, "the entries are written again")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert lines_of(file) == [whole[0], *whole]


def test_a_disk_that_fills_up_leaves_whole_lines_and_the_next_run_loses_nothing(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer select n, repeat('x', 1000) from generate_series(1, 2000) n")
    file = tmp_path / "log"
    options = ("--cursor", "cursor", "--to", "log")
    done = subprocess.run(
        [PROGRAM, "export", "--follow", *options],
        cwd=tmp_path,
        env=environment(DATABASE_URL=database),
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
    )
    assert (done.returncode, "log cannot be written: File too large" in done.stderr) == (1, True)
    assert file.read_text().endswith("}\n")
    with following(database, tmp_path, *options) as process:
        wait_until(lambda: len({*lines_of(file)}) == 2003, "the rest is written")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert {*lines_of(file)} == {*exported(database)}


def test_a_second_export_with_the_same_files_is_refused(database: str, tmp_path: Path, run: Run) -> None:
    with following(database, tmp_path, "--cursor", "cursor", "--to", "log"):
        wait_until(lambda: len(lines_of(tmp_path / "log")) == 3, "the first one is at work")
        for options in (("--cursor", "cursor"), ("--to", "log")):
            done = run("export", "--follow", *options)
            assert (done.returncode, done.stdout) == (1, "")
            assert f"{options[1]} is used by another export" in done.stderr


OTHER = Position("0123456789ab.7").cursor


def checkpoint(database: str, cursor: str, **options: list[str]) -> str:
    """The line that the file of a cursor has."""
    with psycopg.connect(database) as conn:
        return Checkpoint(cursor, identity(conn), {"format": ["ndjson"]} | options).text


@pytest.mark.parametrize(
    ("cursor", "message"),
    [
        (OTHER, "of another database"),
        (Position("", "0123456789ab.7", encode(("2026-01-31T12:00:00Z", "7"))).cursor, "of another database"),
        (OTHER[: len(OTHER) // 2], "is not a cursor"),
        (OTHER[:-1], "is not a cursor"),
        (Position("", "", "x").cursor, "is not a cursor"),
    ],
)
def test_a_cursor_that_is_none_or_of_another_database_is_refused_and_kept(
    run: Run, database: str, tmp_path: Path, cursor: str, message: str
) -> None:
    content = checkpoint(database, cursor)
    (tmp_path / "cursor").write_text(content)
    done = run("export", "--follow", "--cursor", "cursor", "--to", "log")
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "cursor").read_text() == content
    assert lines_of(tmp_path / "log") == []


def test_a_file_that_has_no_cursor_in_it_is_refused_and_kept(run: Run, database: str, tmp_path: Path) -> None:
    whole = checkpoint(database, "start")
    for content in (whole[:20], "\N{EURO SIGN}", "[" * 5000, OTHER, "{}", '{"cursor": 1, "log": "", "options": {}}'):
        (tmp_path / "cursor").write_text(content)
        done = run("export", "--follow", "--cursor", "cursor")
        assert (done.returncode, done.stdout, "cursor has no cursor in it" in done.stderr) == (1, "", True), done.stderr
        assert (tmp_path / "cursor").read_text() == content
    other = Checkpoint("start", "0123456789ab", {"format": ["ndjson"]}).text
    (tmp_path / "cursor").write_text(other)
    assert "of another database" in run("export", "--follow", "--cursor", "cursor").stderr
    assert (tmp_path / "cursor").read_text() == other


def test_other_filters_are_refused_by_name_until_they_are_meant(run: Run, database: str, tmp_path: Path) -> None:
    file, cursor = tmp_path / "log", tmp_path / "cursor"
    options = ("--cursor", "cursor", "--to", "log")

    def go_on(*more: str, until: int, bound: str = "") -> None:
        with following(database, tmp_path, *options, *more) as process:
            wait_until(lambda: len(lines_of(file)) == until and bound in cursor.read_text(), "entries are written")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0

    filters = ("--table", "other", "--table", "customer", "--operation", "insert", "--since", "7d")
    go_on(*filters, until=1)
    kept = cursor.read_text()
    assert json.loads(kept)["options"]["table"] == ["public.customer", "public.other"]
    same = ("--since", "168h", "--operation", "INSERT", "--table", "public.customer", "--table", "other")
    for changed, message in (
        ((), "--table was public.customer, public.other, and is not given"),
        ((*same, "--actor", "alice"), "options: --actor was not given, and is alice"),
        ((*same, "--missing", "actor"), "--missing was not given, and is actor"),
        ((*same, "--not-tenant", "acme"), "--not-tenant was not given, and is acme"),
        ((*same, "--operation", "delete"), "--operation was INSERT, and is DELETE, INSERT"),
        ((*same[2:], "--since", "2026-01-31"), "--since was 7d, and is 2026-01-31T00:00:00+00:00"),
    ):
        done = run("export", "--follow", *options, *changed)
        assert (done.returncode, message in done.stderr, "--rebind" in done.stderr) == (1, True, True), done.stderr
        assert (cursor.read_text(), len(lines_of(file))) == (kept, 1)
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (6)")
        conn.execute("delete from customer")
        conn.execute("insert into customer values (7)")  # behind which the cursor surely is
    go_on(*same, until=3)
    go_on("--operation", "delete", "--rebind", until=3, bound="DELETE")
    assert "--operation was DELETE" in run("export", "--follow", *options).stderr
    with psycopg.connect(database) as conn:
        conn.execute("delete from customer")
    go_on("--operation", "delete", until=4)
    assert json.loads(lines_of(file)[3])["recordId"] == "7"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--format", "parquet"], 2, "--follow writes ndjson"),
        (["--format", "csv"], 2, "--follow writes ndjson"),
        (["--until", "1d"], 2, "leave out --until"),
        (["--unsettled"], 2, "leave out --unsettled"),
        (["--cursor", "nowhere/cursor"], 1, "nowhere/cursor cannot be written"),
        (["--rebind"], 2, "--rebind needs --cursor"),
        (["--cursor", "."], 1, ". is not a file and keeps no cursor"),
        (["--cursor", "pipe"], 1, "pipe is not a file and keeps no cursor"),
        (["--to", "nowhere/log"], 1, "nowhere/log cannot be written"),
        (["--to", "."], 1, ". cannot be written"),
        (["--to", "half"], 1, "half does not end with a whole line"),
        (["--after", "0123456789ab.7"], 1, "of another database"),
    ],
)
def test_what_cannot_be_followed_is_said(run: Run, tmp_path: Path, options: list[str], code: int, message: str) -> None:
    (tmp_path / "half").write_text("half")
    os.mkfifo(tmp_path / "pipe")
    done = run("export", "--follow", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "half").read_text() == "half"
    assert (tmp_path / "pipe").is_fifo()


def test_a_cursor_without_follow_is_refused(run: Run) -> None:
    done = run("export", "--cursor", "cursor")
    assert (done.returncode, "--cursor needs --follow" in done.stderr) == (2, True)


def test_a_reader_that_leaves_ends_it_quietly(database: str, tmp_path: Path) -> None:
    with following(database, tmp_path, "--cursor", "cursor", stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        with psycopg.connect(database) as conn:
            conn.execute("insert into customer values (9)")
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == b""
