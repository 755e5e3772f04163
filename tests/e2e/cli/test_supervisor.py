"""A supervisor outlives what happens to its processes."""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.supervisor import Supervisor
from svc_pg.webhooks.worker.statistics import Statistics
from tests.support.waiting import wait_until

KILLED_IN_ITS_REPORT = """
import os, signal, sys
os.write(int(sys.argv[-1]), b'{"problem": nu')
os.kill(os.getpid(), signal.SIGKILL)
"""
HANGING = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{reports}
signal.pause()
"""
REPORT = json.dumps({"problem": None, "statistics": Statistics().to_json()}).encode() + b"\n"
BUSY = f"""
import os, sys, threading
def report():
    while True:
        os.write(int(sys.argv[-1]), {REPORT!r})
        threading.Event().wait(0.05)
threading.Thread(target=report, daemon=True).start()
"""


@pytest.mark.parametrize("reports", ["", BUSY])
def test_a_process_that_does_not_end_is_killed_so_that_the_supervisor_ends(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, reports: str
) -> None:
    for limit in ("_SILENT", "_GRACE") if not reports else ("_LONGEST_END",):
        monkeypatch.setattr(f"cli.supervisor.{limit}", 0.2)

    async def work() -> None:
        supervisor = Supervisor([[sys.executable, "-c", HANGING.format(reports=reports)]])
        running = asyncio.create_task(supervisor.run())
        [slot] = supervisor._slots
        await asyncio.to_thread(wait_until, lambda: slot.process is not None and ignores_sigterm(slot.process.pid))
        supervisor.stop()
        await asyncio.wait_for(running, 10)

    asyncio.run(work())
    assert "does not end and is killed" in caplog.text


def ignores_sigterm(pid: int) -> bool:
    [ignored] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn")]
    return bool(int(ignored.split()[1], 16) & 1 << signal.SIGTERM - 1)


@pytest.mark.parametrize(
    ("dying", "end"),
    [
        (["/nowhere/svc-pg", "worker"], "did not start: No such file"),
        ([sys.executable, "-c", KILLED_IN_ITS_REPORT], "ended with -9"),
    ],
)
def test_a_process_that_dies_at_once_is_tried_again_and_keeps_nobody_else(
    caplog: pytest.LogCaptureFixture, dying: Sequence[str], end: str
) -> None:
    caplog.set_level(logging.ERROR)

    async def work() -> None:
        living = [sys.executable, "-c", "import signal; signal.pause()"]
        supervisor = Supervisor([dying, living])
        running = asyncio.create_task(supervisor.run())
        await asyncio.to_thread(wait_until, lambda: caplog.text.count(end) >= 2 or running.done())
        assert not running.done()
        supervisor.stop()
        await asyncio.wait_for(running, 10)

    asyncio.run(work())
