"""A machine that runs out of something costs no delivery an attempt."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import psycopg
import pytest

from svc_pg import schema, webhooks
from svc_pg.database.query import fetch_one
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.transport import Done, Request, Result
from tests.support.hooks import KEYS, endpoint, hooks_config, rows, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")
HOSTS = 100
QUICK = timedelta(milliseconds=1)


class Failing:
    """A transport that meets these faults of its machine, and then delivers."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = list(faults)

    def start(self, _: Request, done: Done) -> None:
        result = Result("local_error", error=self.faults.pop(0)) if self.faults else Result("success", 204)
        asyncio.get_running_loop().call_soon(done, result)

    async def close(self) -> None:
        """Nothing is open."""


def statuses(database: str) -> Counter[str]:
    return Counter(row["status"] for row in rows(database, "webhook_deliveries"))


def test_a_worker_with_few_files_delivers_to_many_hosts(database: str) -> None:
    with receiving() as receiver:
        rest = receiver.url.rpartition(":")[2]
        with psycopg.connect(database) as conn:
            schema.install(conn, CONFIG)
            for number in range(HOSTS):
                url = f"http://shop{number}.localhost:{rest}"
                fetch_one(conn, endpoints.create(url=url, events=["*"], keys=KEYS, guard=Guard.of(CONFIG.webhooks)))
            webhooks.send_many(conn, "order.created", [{"id": 1}, {"id": 2}])
        with worker_process(database, CONFIG, concurrency=10, files=64):
            wait_until(lambda: "pending" not in statuses(database), "all have ended")
    assert statuses(database) == {"delivered": 2 * HOSTS}
    assert {row["attempts"] for row in rows(database, "webhook_deliveries")} == {1}


def test_a_fault_of_the_machine_costs_no_attempt_and_is_logged_counted_and_shown(
    database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.local_faults._WAIT", QUICK)
    monkeypatch.setattr("svc_pg.webhooks.worker.local_faults._PAUSE", QUICK.total_seconds())
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {"id": 1})
    with working(database, CONFIG, transport=Failing(["Too many open files"] * 7)) as worker:
        wait_until(lambda: worker.problem == "Too many open files", "it says that it cannot deliver")
        wait_until(lambda: statuses(database)["delivered"], "it is delivered")
        assert worker.problem == "Too many open files"  # until there was none for a while
        assert worker.statistics.attempts == {"local_error": 7, "success": 1}
    [delivery] = rows(database, "webhook_deliveries")
    assert (delivery["attempts"], delivery["last_error"]) == (1, None)
    assert [row["outcome"] for row in rows(database, "webhook_delivery_attempts")] == ["success"]
    assert caplog.text.count("because this machine cannot send them: Too many open files") == 1
