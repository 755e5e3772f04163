"""Processes whose clock is wrong, by libfaketime. Without it tests are skipped, but in CI they fail.

The library alone: the program faketime ends with an error if a process of its id was once killed under it, for it
names what it shares by its id.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.support import debian


def clock_off_by(offset: str) -> dict[str, str]:
    """The environment of a process whose clock is off by that: ``+1h``."""
    return {"LD_PRELOAD": _library(), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


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
            "LD_PRELOAD": _library(),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        with patch.dict(os.environ, environment):
            yield clock


def _library() -> str:
    return debian.library("faketime/libfaketime.so.1", package="faketime")
