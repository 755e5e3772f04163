"""Processes whose clock is wrong, by the program faketime. Without it tests are skipped, but in CI they fail."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.support import debian


def clock_off_by(offset: str) -> dict[str, str]:
    """The environment of a process whose clock is off by that: ``+1h``."""
    return {"LD_PRELOAD": _library(offset), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class FakedClock:
    """The clock of the processes that are started in the block of ``faked_clock``."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def set(self, offset: str) -> None:
        """Set it off by ``offset`` from now on."""
        self._file.write_text(offset)


@contextmanager
def faked_clock(offset: str) -> Iterator[FakedClock]:
    """Give processes that start in the block a clock that can be set while they run. They must end in it too."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a server may have an account of its own
        file = Path(folder) / "clock"
        clock = FakedClock(file)
        clock.set(offset)
        environment = {
            "LD_PRELOAD": _library(offset),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        with patch.dict(os.environ, environment):
            yield clock


def _library(offset: str) -> str:
    command = [debian.program("faketime", package="faketime"), "-f", offset, "printenv", "LD_PRELOAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
