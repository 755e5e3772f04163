"""The folders of packages that tests share (tests.support.packages)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.support.packages import kept


def test_two_that_want_the_same_packages_install_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    both = Barrier(2)

    def install(folder: Path) -> Sequence[Sequence[str]]:
        return [["mkdir", f"{folder}/node_modules"], ["sh", "-c", f"echo installed >> {tmp_path}/installs"]]

    def wanted(_: int) -> Path:
        both.wait(timeout=30)
        return kept("pg@8", install)

    with ThreadPoolExecutor(2) as threads:
        [first, second] = threads.map(wanted, range(2))
    assert first == second
    assert (first / "node_modules").is_dir()
    assert (tmp_path / "installs").read_text() == "installed\n"
