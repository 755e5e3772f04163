"""A worker all of whose slots are in use."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from svc_pg import webhooks
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.raw_receiver import OK, in_a_thread, read_request
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")
SLOTS = 400
ENDPOINTS = 8
MOST_MEGABYTES = 100


class Held:
    """A receiver that answers when it may."""

    def __init__(self) -> None:
        self.requests = 0
        self._may_answer = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            self._loop = asyncio.get_running_loop()
            self.requests += 1
            await self._may_answer.wait()
            writer.write(OK)

    def release(self) -> None:
        """Let it answer. Call it from another thread, after the first request."""
        self._loop.call_soon_threadsafe(self._may_answer.set)


def fill(database: str, url: str) -> None:
    """Make more deliveries than there are slots, and enough endpoints for all slots."""
    for _ in range(ENDPOINTS):
        endpoint(database, CONFIG, url, max_in_flight=SLOTS // ENDPOINTS)
    with psycopg.connect(database) as conn:
        webhooks.send_many(conn, "order.created", [{"id": number} for number in range(SLOTS // ENDPOINTS + 5)])


def test_a_worker_that_stops_with_all_slots_in_use_finishes_them_all(database: str) -> None:
    held = Held()
    with in_a_thread(held.answer) as url:
        fill(database, url)
        with working(database, CONFIG) as worker:
            wait_until(lambda: held.requests == SLOTS, "all slots are in use")
            worker.stop()
            held.release()
        assert held.requests == SLOTS
    assert worker.statistics.in_flight == 0
    found = Counter((row["status"], row["attempts"]) for row in rows(database, "webhook_deliveries"))
    assert found == {("delivered", 1): SLOTS, ("pending", 0): 5 * ENDPOINTS}
    assert {row["outcome"] for row in rows(database, "webhook_delivery_attempts")} == {"success"}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_receivers_that_never_answer_cost_a_worker_little_memory(database: str) -> None:
    held = Held()
    with in_a_thread(held.answer) as url:
        fill(database, url)
        with worker_process(database, CONFIG, concurrency=SLOTS) as process:
            wait_until(lambda: held.requests == SLOTS, "all slots are in use")
            status = Path(f"/proc/{process.pid}/status").read_text()
    [resident] = [int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS:")]
    assert resident < MOST_MEGABYTES
