"""The command ``export --follow``."""

import io
import json
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit.follow_position import Position
from tests.support import killed_export
from tests.support.commands import PROGRAM, environment, svc_pg
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


@contextmanager
def following(database: str, folder: Path, *options: str, **popen: Any) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        [PROGRAM, "export", "--follow", *options],
        cwd=folder,
        env=environment(DATABASE_URL=database),
        stderr=subprocess.PIPE,
        **popen,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


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


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
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
    cursor.write_text("start\n")
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
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))}
    with following(database, tmp_path, *options, **full) as process:
        assert process.wait(timeout=30) == 1
        assert process.stderr
        assert b"log cannot be written: File too large" in process.stderr.read()
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{OTHER}\n", "of another database"),
        (OTHER[: len(OTHER) // 2], "is not a cursor"),
        (OTHER[:-1], "is not a cursor"),
        ("\N{EURO SIGN}", "has no cursor in it"),
        (Position("", "", "x").cursor, "is not a cursor"),
        ("[" * 5000, "is not a cursor"),
    ],
)
def test_a_cursor_that_is_none_or_of_another_database_is_refused_and_kept(
    run: Run, tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "cursor").write_text(content)
    done = run("export", "--follow", "--cursor", "cursor", "--to", "log")
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "cursor").read_text() == content
    assert lines_of(tmp_path / "log") == []


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--format", "parquet"], 2, "--follow writes ndjson"),
        (["--format", "csv"], 2, "--follow writes ndjson"),
        (["--until", "1d"], 2, "leave out --until"),
        (["--unsettled"], 2, "leave out --unsettled"),
        (["--cursor", "nowhere/cursor"], 1, "nowhere/cursor cannot be written"),
        (["--cursor", "."], 1, "cannot be written"),
        (["--to", "nowhere/log"], 1, "nowhere/log cannot be written"),
        (["--to", "."], 1, ". cannot be written"),
        (["--to", "half"], 1, "half does not end with a whole line"),
        (["--after", "0123456789ab.7"], 1, "of another database"),
    ],
)
def test_what_cannot_be_followed_is_said(run: Run, tmp_path: Path, options: list[str], code: int, message: str) -> None:
    (tmp_path / "half").write_text("half")
    done = run("export", "--follow", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "half").read_text() == "half"


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
