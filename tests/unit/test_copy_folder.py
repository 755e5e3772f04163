"""Copies of seals in a folder: each is there wholly or not at all, and is never written again."""

import errno
import json
import os
import resource
import signal
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest

from svc_pg.audit import SealKey
from svc_pg.errors import ProofError, SvcError
from svc_pg.maintenance import bounded_calls
from svc_pg.maintenance.bounded_calls import Patience, patiently
from svc_pg.seals.verification.chain import Chain
from svc_pg.seals.verification.copies import name_of, read_copies
from svc_pg.seals.verification.seal import BEFORE_FIRST, Seal
from svc_pg.seals.writing import copy_file
from svc_pg.seals.writing.copy_file import opened_file
from svc_pg.seals.writing.copy_folder import MOST_GAPS, CopyFolder, opened_folder
from svc_pg.seals.writing.copy_line import line_of
from svc_pg.seals.writing.copying import appending, naming

KEY: Final = SealKey("s1", b"k" * 32)
NOW: Final = datetime(2026, 1, 5, tzinfo=UTC)


def chain_of(count: int) -> list[Seal]:
    """A chain of seals without entries."""
    seals: list[Seal] = []
    for number in range(1, count + 1):
        previous = seals[-1].digest if seals else BEFORE_FIRST
        new = Seal("e", None, None, number, None, None, number, 0, bytes(32), previous, NOW, KEY.key_id)
        seals.append(replace(new, signature=KEY.sign(new.text)))
    return seals


SEALS: Final = chain_of(12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the copies of three seals."""
    path = tmp_path / "copies"
    path.mkdir()
    assert add(path, SEALS[:3]) == 3
    return path


def add(path: Path, seals: list[Seal]) -> int:
    with opened_folder(path) as copies:
        return copies.append(seals)


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


def test_each_seal_is_a_file_of_one_line_and_all_together_are_a_file_of_copies(folder: Path, tmp_path: Path) -> None:
    assert names(folder) == [name_of(number) for number in (1, 2, 3)]
    assert [*read_copies(folder)] == SEALS[:3]
    file = tmp_path / "file"
    file.write_bytes(b"".join((folder / name).read_bytes() for name in names(folder)))
    assert [*read_copies(file)] == SEALS[:3]
    assert (folder / name_of(1)).stat().st_mode & 0o222 == 0
    with appending(folder) as copies:
        assert isinstance(copies, CopyFolder)
        assert (copies.last, copies.lacks) == (SEALS[2], [(4, None)])


def identity(file: Path) -> tuple[int, ...]:
    """Changes with every writing of a file, and with no reading."""
    found = file.stat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def test_what_is_there_stays_as_it_is(folder: Path) -> None:
    before = {name: identity(folder / name) for name in names(folder)}
    assert add(folder, SEALS[:4]) == 1
    assert {name: identity(folder / name) for name in before} == before
    other = replace(SEALS[1], sealed_at=NOW + timedelta(days=1))
    whole = (folder / name_of(2)).read_bytes()
    with pytest.raises(ProofError, match=rf"{name_of(2)} is not the copy of seal 2, and was not overwritten"):
        add(folder, [other])
    assert (folder / name_of(2)).read_bytes() == whole


def test_copies_that_somebody_removed_are_made_again_and_the_gaps_are_bounded(folder: Path, tmp_path: Path) -> None:
    add(folder, SEALS)
    for number in (1, 5, 6, 9):
        (folder / name_of(number)).unlink()
    with opened_folder(folder) as copies:
        assert copies.lacks == [(1, 1), (5, 6), (9, 9), (13, None)]
        assert copies.append([SEALS[0], SEALS[4], SEALS[5], SEALS[8]]) == 4
    with opened_folder(folder) as copies:
        assert copies.lacks == [(13, None)]
    many = tmp_path / "many"
    many.mkdir()
    for number in range(2, 2 * MOST_GAPS + 100, 2):
        (many / name_of(number)).touch()
    (many / name_of(2 * MOST_GAPS + 98)).write_bytes(line_of(replace(SEALS[0], number=2 * MOST_GAPS + 98)))
    with opened_folder(many) as copies:
        assert len(copies.gaps) == MOST_GAPS


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_several_write_the_same_copies_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    counts: list[int] = []
    start = threading.Barrier(4)

    def write() -> None:
        start.wait()
        counts.append(add(folder, SEALS))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(counts) == 4
    assert sum(counts) >= 9
    assert names(folder) == [name_of(number) for number in range(1, 13)]
    assert [*read_copies(folder)] == SEALS


def test_a_writer_that_is_killed_leaves_no_part_of_a_copy(folder: Path) -> None:
    child = os.fork()
    if child == 0:
        os.link = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        add(folder, SEALS)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert [*read_copies(folder)] == SEALS[:3]
    [left] = [name for name in names(folder) if name.startswith(".")]
    assert add(folder, SEALS[:4]) == 1
    assert left in names(folder)  # perhaps its writer is only slow
    os.utime(folder / left, (0, 0))
    assert add(folder, SEALS[:5]) == 1
    assert names(folder) == [name_of(number) for number in range(1, 6)]


def test_a_full_disk_leaves_the_folder_as_it_was(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            add(folder, SEALS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(folder) == [name_of(number) for number in (1, 2, 3)]
    assert add(folder, SEALS) == 9


def test_a_folder_that_vanished_is_not_made(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    with pytest.raises(FileNotFoundError), opened_folder(folder):
        pass
    folder.mkdir()
    with pytest.raises(ProofError, match="has no copies of seals"):
        [*read_copies(folder)]


@pytest.fixture(params=["link", "fifo", "folder", "long", "cut", "other number", "nonsense"])
def damaged(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A folder whose second copy is no copy."""
    file = folder / name_of(2)
    whole = file.read_bytes()
    file.unlink()
    match request.param:
        case "link":
            (folder / "elsewhere").write_bytes(whole)
            file.symlink_to(folder / "elsewhere")
        case "fifo":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "long":
            file.write_bytes(b" " * 20_000 + whole)
        case "cut":
            file.write_bytes(whole[:-1])
        case "other number":
            file.write_bytes(line_of(SEALS[4]))
        case _:
            file.write_bytes(b'{"text": "{}", "signature": ""}\n')
    return folder


def test_what_is_no_copy_is_named_and_not_waited_for(damaged: Path) -> None:
    with pytest.raises((ProofError, OSError)) as error:
        [*read_copies(damaged)]
    assert name_of(2) in str(error.value)


def test_other_files_beside_them_are_nothing(folder: Path) -> None:
    other = ("README", "lost+found", "5.json", f"{name_of(5)}.bak", f".{name_of(5)}.tmp", "x" * 19 + ".json")
    for name in (*other, name_of(0), name_of(2**63)):
        (folder / name).touch()
    assert [*read_copies(folder)] == SEALS[:3]


@pytest.mark.parametrize(
    "change",
    [{"number": 2**63}, {"sealed_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))}],
    ids=["number", "time"],
)
def test_a_copy_beyond_what_can_be_is_damaged(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "seals"
    values = json.loads(SEALS[0].text) | {name: value for name, value in change.items() if name == "number"}
    if "sealed_at" in change:
        values["sealed_at"] = change["sealed_at"].isoformat(timespec="microseconds")
    file.write_text(json.dumps({"text": json.dumps(values), "signature": ""}) + "\n")
    with pytest.raises(ProofError, match="line 1 is no seal"):
        [*read_copies(file)]


def test_a_long_file_is_read_from_its_end(tmp_path: Path) -> None:
    file = tmp_path / "seals"
    lines = [line_of(replace(SEALS[0], number=number)) for number in range(1, 400)]
    file.write_bytes(b"x" * len(lines[0]) + b"\n" + b"".join(lines))  # its beginning is left to a verification
    assert file.stat().st_size > 2 * copy_file._END
    with appending(file) as copies:
        assert copies.lacks == [(400, None)]
        assert copies.append([replace(SEALS[0], number=400)]) == 1
    assert file.read_bytes().endswith(line_of(replace(SEALS[0], number=400)))
    with pytest.raises(ProofError, match="line 1 is no seal"):
        [*read_copies(file)]


def test_a_file_is_read_again_if_it_has_changed_since_and_only_then(tmp_path: Path) -> None:
    file = tmp_path / "seals"
    with opened_file(file) as before:
        before.append(SEALS[:1])
    with opened_file(file) as other:
        other.append(SEALS[1:2])
    with opened_file(file, before=before) as after:
        assert after.lacks == [(3, None)]
    known = file.stat()
    file.write_bytes(b"x" * known.st_size)
    os.utime(file, ns=(known.st_atime_ns, known.st_mtime_ns))
    with opened_file(file, before=after) as unread:
        assert unread.lacks == [(3, None)]


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["cut", "long"])
def test_a_file_without_a_line_at_its_end_is_damaged(tmp_path: Path, end: bytes) -> None:
    file = tmp_path / "seals"
    file.write_bytes(line_of(SEALS[0]) + b"x" * copy_file._END + end)
    with pytest.raises(ProofError, match="is damaged: its end has no whole line"), appending(file):
        pass


def test_a_pipe_is_refused_with_a_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(SvcError, match=r"cannot be read or written: .*seek"),
        naming(tmp_path),
        appending(tmp_path / "pipe"),
    ):
        pass


def test_a_folder_that_cannot_be_synced_gets_its_copies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def refuse(opened: int) -> None:
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(opened)

    monkeypatch.setattr(os, "fsync", refuse)
    assert add(folder, SEALS) == 9


def test_edited_and_made_up_copies_fail_by_their_signature() -> None:
    copies = [SEALS[0], replace(SEALS[1], entries=7), SEALS[2], replace(SEALS[3], signature=bytes(64)), *SEALS[4:6]]
    chain = Chain(KEY.public.keys, [*copies, *(replace(each, entries=9) for each in SEALS[6:])])
    for seal in SEALS[:6]:
        assert chain.take(seal)
    chain.end()
    assert [(finding.kind, finding.seal) for finding in chain.findings] == [
        ("copy_changed", number) for number in (2, 4, *range(7, 13))
    ]
    assert chain.findings[0].message == "the copy of seal 2 was changed: its signature is not of its text"


def test_a_call_that_hangs_is_left_alone_and_the_next_is_refused() -> None:
    may_end = threading.Event()
    patience = Patience("/mnt/gone", longest=timedelta(milliseconds=50))
    with pytest.raises(SvcError, match=r"/mnt/gone does not answer within 0.05 s"):
        patience.call(may_end.wait)
    with pytest.raises(SvcError, match="an earlier call hangs"):
        patience.call(lambda: 1)
    may_end.set()
    for _ in range(1000):
        try:
            assert patience.call(lambda: 1) == 1
            break
        except SvcError:
            threading.Event().wait(0.01)
    else:
        pytest.fail("the call has ended")
    with pytest.raises(ZeroDivisionError):
        patience.call(lambda: 1 // 0)


def test_a_call_is_left_alone_when_somebody_asks_to_stop() -> None:
    may_end = threading.Event()
    patience = Patience("/mnt/gone", longest=timedelta(minutes=1))
    answers = iter([False])
    with pytest.raises(InterruptedError):
        patience.call(may_end.wait, lambda: next(answers, True))
    with pytest.raises(SvcError, match="an earlier call hangs"):
        patience.call(lambda: 1)
    may_end.set()


def test_copies_that_hang_while_they_are_read_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()

    def hanging() -> Iterator[int]:
        yield from range(250)
        may_end.wait()

    monkeypatch.setattr(bounded_calls, "_LONGEST", timedelta(milliseconds=300))
    read = patiently("/mnt/gone", hanging())
    assert [*islice(read, 200)] == [*range(200)]  # pages that were there
    with pytest.raises(SvcError, match=r"/mnt/gone does not answer within 0.3 s"):
        next(read)
    may_end.set()


def test_copies_that_come_slowly_are_read_one_at_a_time_and_their_error_is_the_one_of_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_calls, "_LONGEST_PAGE", 0.0)
    taken = []

    def slow() -> Iterator[int]:
        for number in range(3):
            taken.append(number)
            yield number
        raise ProofError("seals is cut")

    read = patiently("seals", slow())
    assert next(read) == 0
    assert taken == [0]
    assert [next(read), next(read)] == [1, 2]
    with pytest.raises(ProofError, match="seals is cut"):
        next(read)
