import os
import signal
import subprocess
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from cli.demo.export.new_folder import new_folder
from svc_pg.errors import SvcError
from tests.e2e.test_demo import processes, temporary
from tests.support.commands import PROGRAM, environment, svc_pg
from tests.support.waiting import wait_until

__all__ = ["temporary"]


@pytest.mark.timeout(400)  # as for an export to its end
def test_an_export_that_is_told_to_end_leaves_neither_a_folder_nor_a_process(tmp_path: Path, temporary: Path) -> None:
    told, place = tmp_path / "told", tmp_path / "place"
    place.mkdir()
    with told.open("w") as errors:
        demo = subprocess.Popen(
            [PROGRAM, "demo", "--export", str(place / "shop")],
            stdout=errors,
            stderr=errors,
            env=environment(TMPDIR=str(temporary)),
        )
    try:
        limit = timedelta(seconds=240)
        wait_until(lambda: "open the pages" in told.read_text(), "it walks", limit=limit)
        assert [path.name.startswith(".shop.") for path in place.iterdir()] == [True]
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=60) == 130
    finally:
        demo.kill()
        demo.wait()
    assert "Traceback" not in told.read_text()
    assert [*place.iterdir()] == []
    assert processes(temporary) == []
    assert [path for path in temporary.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("full", "the folder full is not empty"),
        ("full/file", "full/file is not a folder"),
        ("missing/shop", "missing/shop cannot be written: No such file or directory"),
        ("full/file/shop", "full/file/shop cannot be written: Not a directory"),
        (".", "not empty"),
    ],
)
def test_a_folder_that_cannot_be_is_refused_before_the_demo_starts(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    done = svc_pg("demo", "--export", name, folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert "embedded" not in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "file"]


def test_a_file_of_sqlite_has_no_pages_to_export(tmp_path: Path) -> None:
    done = svc_pg("demo", "--database", "sqlite", "--export", "shop", folder=tmp_path)
    assert done.returncode == 2
    assert "has no pages" in done.stderr


def test_of_two_exports_at_once_the_second_says_so_and_leaves_the_first_whole(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    with ExitStack() as stack:
        _, second = stack.enter_context(new_folder(shop))
        (second / "index.html").write_text("second")
        with new_folder(shop) as (_, first):
            (first / "index.html").write_text("first")
            assert not shop.exists()
        with pytest.raises(SvcError, match="is not empty"):
            stack.close()
    assert (shop / "index.html").read_text() == "first"
    assert [*tmp_path.iterdir()] == [shop]


def test_an_empty_folder_is_filled_and_keeps_its_mode(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir(mode=0o750)
    with new_folder(shop) as (place, part):
        (part / "index.html").write_text("new")
    assert place == shop.resolve()
    assert (shop / "index.html").read_text() == "new"
    assert shop.stat().st_mode & 0o777 == 0o750


def test_a_failure_leaves_an_empty_folder_as_it_was(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()

    def fill() -> None:
        with new_folder(shop) as (_, part):
            (part / "index.html").write_text("half")
            raise OSError(28, os.strerror(28))

    with pytest.raises(SvcError, match="shop cannot be written: No space left"):
        fill()
    assert [*tmp_path.rglob("*")] == [shop]


def test_the_folder_that_one_is_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SvcError, match="the one that you are in"), new_folder(Path()):
        pass
