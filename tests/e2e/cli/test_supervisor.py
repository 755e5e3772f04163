"""A supervisor outlives what happens to its processes."""

import asyncio
import logging
import sys
from collections.abc import Sequence

import pytest

from cli.supervisor import Supervisor
from tests.support.waiting import wait_until

KILLED_IN_ITS_REPORT = """
import os, signal, sys
os.write(int(sys.argv[-1]), b'{"problem": nu')
os.kill(os.getpid(), signal.SIGKILL)
"""


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
