"""A supervisor outlives what happens to its processes."""

import asyncio
import logging
import sys

import pytest

from cli.supervisor import Supervisor
from tests.support.waiting import wait_until


def test_a_process_that_cannot_be_started_is_tried_again_and_keeps_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)

    async def work() -> None:
        living = [sys.executable, "-c", "import signal; signal.pause()"]
        supervisor = Supervisor([["/nowhere/svc-pg", "worker"], living])
        running = asyncio.create_task(supervisor.run())
        await asyncio.to_thread(wait_until, lambda: caplog.text.count("did not start: No such file") >= 2)
        assert not running.done()
        supervisor.stop()
        await asyncio.wait_for(running, 10)

    asyncio.run(work())
