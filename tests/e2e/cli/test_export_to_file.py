"""The file of ``export --to``: the old one, or the whole new one."""

import json
import resource
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg.database.query import scalar
from tests.support.commands import PROGRAM, Process, environment, running, svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]
OLD = "the last export"
WAITING = "select exists (select from pg_locks where relation = 'svc.audit_logs'::regclass and not granted)"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Ninety entries of 1 kB."""

    def prepare(conninfo: str) -> None:
        create_and_audit(conninfo, "create table customer (id int primary key, name text)", audited("customer"))
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into customer select n, repeat('x', 1000) from generate_series(10, 99) n")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of an earlier export."""
    file = tmp_path / "log"
    file.write_text(OLD, encoding="utf-8")
    return file


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error_and_no_traceback(run: Run, database: str) -> None:
    done = run("export", "--to", "/dev/full")
    assert (done.returncode, "/dev/full cannot be written: No space left" in done.stderr) == (1, True)
    for command in ("export --format parquet", "log", "status", "status --json", "diff 1", "--help"):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            failed = subprocess.run(
                [PROGRAM, *command.split()],
                env=environment(DATABASE_URL=database),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert failed.returncode == 1, failed.stderr
        assert failed.stderr.endswith("error: standard output cannot be written: No space left on device\n")
    failed = subprocess.run(
        ["sh", "-c", 'exec "$0" log <&- >&-', PROGRAM],
        env=environment(DATABASE_URL=database),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert failed.stderr == "error: standard output cannot be written: Bad file descriptor\n"


def test_an_export_that_fails_leaves_the_old_file_as_it_was(database: str, file: Path) -> None:
    file.chmod(0o640)
    export = (PROGRAM, "export", "--to", file)
    done = subprocess.run(
        export,
        env=environment(DATABASE_URL=database),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),  # as a disk that fills up
    )
    assert (done.returncode, "cannot be written" in done.stderr) == (1, True)
    assert file.read_text(encoding="utf-8") == OLD
    assert [*file.parent.iterdir()] == [file]
    subprocess.run(export, env=environment(DATABASE_URL=database), check=True)
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 90
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [*file.parent.iterdir()] == [file]


@contextmanager
def waiting(lock: psycopg.Connection[Any], database: str, file: Path) -> Iterator[Process]:
    """An export that has opened its file, and waits for the log, which somebody has locked."""
    command, variables = ("export", "--to", str(file)), {"DATABASE_URL": database}
    with running(*command, folder=file.parent, variables=variables, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: scalar(lock, WAITING), "the export waits for the lock")
        yield process


def part_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.part")


@pytest.fixture
def lock(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that locks the log."""
    with psycopg.connect(database) as conn:
        conn.execute("lock table svc.audit_logs in access exclusive mode")
        yield conn


def test_a_signal_ends_it_as_ctrl_c_does(database: str, file: Path, lock: psycopg.Connection[Any]) -> None:
    for ending, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        with waiting(lock, database, file) as process:
            process.send_signal(ending)
            assert process.wait(timeout=30) == code
            assert process.stderr
            assert process.stderr.read() == ""
        assert [*file.parent.iterdir()] == [file]
        assert file.read_text() == OLD


def test_a_run_that_was_killed_is_written_over_by_the_next(
    database: str, run: Run, file: Path, lock: psycopg.Connection[Any]
) -> None:
    with waiting(lock, database, file) as process:
        process.kill()
    assert part_of(file).exists()
    part_of(file).write_text("half" * 100_000, encoding="utf-8")
    lock.rollback()
    assert run("export", "--to", "log").returncode == 0
    assert len(json.loads(file.read_text())) == 90
    assert [*file.parent.iterdir()] == [file]


def test_a_second_export_to_the_same_file_is_refused(
    database: str, run: Run, file: Path, lock: psycopg.Connection[Any]
) -> None:
    with subprocess.Popen(
        [PROGRAM, "export", "--to", file],
        env=environment(DATABASE_URL=database),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # as nohup does
    ) as first:
        try:
            wait_until(lambda: scalar(lock, WAITING), "the export waits for the lock")
            done = run("export", "--to", "log", "--format", "csv")
            assert (done.returncode, done.stdout) == (1, "")
            assert "log is used by another export" in done.stderr
            assert file.read_text() == OLD
            first.send_signal(signal.SIGHUP)
            lock.rollback()
            assert first.wait(timeout=30) == 0
        finally:
            first.kill()
    assert len(json.loads(file.read_text())) == 90
    assert [*file.parent.iterdir()] == [file]


def test_a_file_that_another_export_follows_to_is_not_replaced(
    database: str, run: Run, file: Path, lock: psycopg.Connection[Any]
) -> None:
    file.unlink()
    with waiting(lock, database, file) as late:
        follow = ("export", "--follow", "--to", str(file))
        with running(*follow, folder=file.parent, variables={"DATABASE_URL": database}) as following:
            wait_until(file.exists, "the file is followed to")
            lock.rollback()
            assert late.wait(timeout=30) == 1
            assert late.stderr
            assert "log is used by another export" in late.stderr.read()
            wait_until(lambda: file.read_text().count("\n") == 90, "the entries are written")
            assert "log is used by another export" in run("export", "--to", "log").stderr
            assert [*file.parent.iterdir()] == [file]
            following.terminate()
            following.wait(timeout=30)
    assert file.read_text().count("\n") == 90


def test_a_link_in_the_way_is_not_followed(run: Run, file: Path) -> None:
    part_of(file).symlink_to("precious")
    done = run("export", "--to", "log")
    assert (done.returncode, "log cannot be written: Too many levels of symbolic links" in done.stderr) == (1, True)
    assert (file.read_text(), (file.parent / "precious").exists()) == (OLD, False)
