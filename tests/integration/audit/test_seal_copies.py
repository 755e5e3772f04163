"""Copies of seals outside the database name what a superuser did to the seals inside."""

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from cli.seals import seal as seal_command
from svc_pg import audit
from svc_pg.audit import SealKey, Verification
from svc_pg.database.query import fetch
from svc_pg.errors import ProofError, SvcError
from svc_pg.maintenance import seal_copies
from svc_pg.maintenance.bounded_calls import Patience
from svc_pg.maintenance.seal_copies import SealCopies
from svc_pg.seals.verification.copies import name_of, read_copies
from svc_pg.seals.writing.copy_line import line_of
from svc_pg.seals.writing.copying import append_new, appending
from svc_pg.status.seal_destinations import seal_destinations
from tests.support.postgres import Prepare, embedded_programs
from tests.support.tables import audited, create_and_audit

Connection = psycopg.Connection[Any]

KEY: Final = SealKey("s1", b"k" * 32)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key)", audited("t"))


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "copies"
    path.mkdir()
    return path


def seal(conn: Connection, count: int = 1) -> None:
    """Make as many seals, of an entry each."""
    for _ in range(count):
        audit.capture_log(conn, "a", "INSERT")
        assert len(audit.seal(conn, key=KEY)) == 1


def copy(conn: Connection, folder: Path) -> int:
    with appending(folder) as copies:
        return append_new(conn, copies)


def verified(conn: Connection, folder: Path) -> Verification:
    return audit.verify(conn, public_keys=KEY.public, copies=read_copies(folder))


def test_an_old_dump_that_is_restored_is_named(
    db: Connection, database: str, empty_database: str, folder: Path
) -> None:
    seal(db, 2)
    programs = embedded_programs()
    dump = subprocess.run([programs / "pg_dump", "--dbname", database], capture_output=True, check=True).stdout
    seal(db, 2)
    assert copy(db, folder) == 4
    psql = [str(programs / "psql"), "--quiet", "--dbname", empty_database]
    subprocess.run(psql, input=dump, capture_output=True, check=True)
    with psycopg.connect(empty_database, autocommit=True) as restored:
        assert audit.verify(restored, public_keys=KEY.public).is_intact  # the limit of seals without copies
        missing = "seals 3 to 4 are missing: the copies have them"
        assert [each.message for each in verified(restored, folder).findings] == [missing]
        with pytest.raises(ProofError, match="seal 4 of the copies is not in this log"):
            copy(restored, folder)
        audit.capture_log(restored, "a", "INSERT")
        audit.seal(restored, key=KEY)  # by somebody without the copies
        said = [(each.kind, each.seal) for each in verified(restored, folder).findings]
        assert said[0] == ("seal_replaced", 3)
        assert {kind for kind, _ in said} <= {"seal_replaced", "seal_missing"}
    assert verified(db, folder).is_intact


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_copies_that_vanish_between_a_look_and_a_write_are_not_begun_anew(
    db: Connection, folder: Path, tmp_path: Path, kind: str
) -> None:
    path = folder if kind == "folder" else tmp_path / "seals"
    copies = SealCopies(path)
    for _ in range(2):
        seal(db)
        copies.look(db)
        if copies.known is not None:
            path.rename(tmp_path / "gone")
        copies.write(db)
    assert copies.problem is not None
    assert not path.exists()
    copies.look(db)
    assert f"{path} is gone" in str(copies.problem)
    (tmp_path / "gone").rename(path)
    copies.look(db)
    copies.write(db)
    assert [seal.number for seal in read_copies(path)] == [1, 2]


def test_copies_that_the_folder_lost_come_back_and_others_stay(db: Connection, folder: Path) -> None:
    seal(db, 4)
    assert copy(db, folder) == 4
    for number in (1, 3):
        (folder / name_of(number)).unlink()
    assert verified(db, folder).is_intact
    assert copy(db, folder) == 2
    file = folder / name_of(2)
    edited = replace([*read_copies(folder)][1], entries=9)
    file.unlink()
    file.write_bytes(line_of(edited))
    (folder / name_of(3)).unlink()
    assert copy(db, folder) == 1
    assert file.read_bytes() == line_of(edited)
    [finding] = verified(db, folder).findings
    assert (finding.kind, finding.seal) == ("copy_changed", 2)
    assert finding.message == "the copy of seal 2 was changed: its signature is not of its text"


def hang(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let each call of a disk wait until the event is set, and be waited for a short time."""
    may_end = threading.Event()

    def hanging(*_: object, **__: object) -> None:
        may_end.wait(60)
        raise OSError

    monkeypatch.setattr(seal_copies, "appending", hanging)
    monkeypatch.setattr(seal_copies, "Patience", partial(Patience, longest=timedelta(seconds=0.3)))
    return may_end


def test_the_command_leaves_a_disk_that_hangs_alone_and_seals_all_the_same(
    db: Connection, database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_SEAL_KEY", KEY.text)
    audit.capture_log(db, "a", "INSERT")
    may_end = hang(monkeypatch)
    with pytest.raises(SvcError, match=r"copies does not answer within 0\.3 s"):
        seal_command(to=folder, database_url=database)
    may_end.set()
    assert len(audit.seals(db)) == 1
    [told] = fetch(db, seal_destinations(has_webhooks=False))
    assert (told.name, told.waiting, told.problem) == (str(folder), 1, f"{folder} does not answer within 0.3 s")


def test_copies_on_a_disk_that_hangs_hold_up_no_stop(
    db: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = hang(monkeypatch)
    monkeypatch.setattr(seal_copies, "Patience", Patience)
    calls = iter([False, False])
    with pytest.raises(InterruptedError):
        SealCopies(folder).look(db, lambda: next(calls, True))
    may_end.set()


@pytest.mark.parametrize(("is_command", "days"), [(False, 1 / 24), (True, 7)], ids=["worker", "command"])
def test_a_destination_is_shown_until_its_writer_is_missed(
    db: Connection, folder: Path, *, is_command: bool, days: float
) -> None:
    seal(db)
    copies = SealCopies(folder, begins_anew=is_command)
    copies.look(db)
    copies.write(db)

    def pass_by(time: timedelta) -> int:
        db.execute(
            "update svc.seal_destinations set seen_at = seen_at - %s, shown_until = shown_until - %s", (time,) * 2
        )
        return len(fetch(db, seal_destinations(has_webhooks=False)))

    assert pass_by(timedelta(days=days)) == 1
    assert pass_by(timedelta(days=1.5)) == 0


def test_many_seals_are_copied_some_at_a_time(db: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.seals.writing.copying._PAGE", 2)
    seal(db, 5)
    assert copy(db, folder) == 5
    for number in (1, 2, 3):
        (folder / name_of(number)).unlink()
    assert copy(db, folder) == 3
    assert [*read_copies(folder)] == [*reversed(audit.seals(db))]
