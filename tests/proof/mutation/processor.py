"""Wait for a process by the time of the processor that it uses, which other programs of the machine do not change."""

import subprocess
import time
from contextlib import suppress
from typing import Final

import psutil

_BY_THE_CLOCK: Final = 20  # times as long may a process run that waits, or that others keep waiting
_LOOK: Final = 1.0  # seconds between two looks


def wait_for(process: "subprocess.Popen[bytes]", most: float) -> float:
    """Wait for the end of a process, or until it has used ``most`` seconds; return those at the last look.

    The processes that it has started count, unless they were left to run without it.
    """
    top, used, ends = psutil.Process(process.pid), 0.0, time.monotonic() + _BY_THE_CLOCK * most
    while used < most and time.monotonic() < ends:
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(_LOOK, most - used))
            break
        with suppress(psutil.NoSuchProcess):
            used = max(used, sum(map(_seconds, (top, *top.children(recursive=True)))))
    return used


def _seconds(process: psutil.Process) -> float:
    """The seconds of a process, and those of its children that have ended."""
    with suppress(psutil.NoSuchProcess):
        return sum(process.cpu_times()[:4])
    return 0.0
