"""Workers are killed again and again, at whatever moment: every delivery arrives all the same."""

from collections import Counter, defaultdict
from contextlib import ExitStack
from datetime import timedelta
from threading import Event
from uuid import UUID

import psycopg

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.chance import chance
from tests.support.hooks import endpoint, hooks_config, rows
from tests.support.leases import shorten_leases
from tests.support.receiver import receiving
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")
DELIVERIES = 400
KILLS = 6
WORKERS = 2


def test_workers_that_are_killed_at_random_lose_nothing(database: str) -> None:
    chances, are_killed = chance(20), Event()

    def answer(number: int) -> int:
        assert number > 1 or are_killed.wait(timeout=60)  # so that one is under way when its worker is killed
        return 204

    with receiving(answer) as receiver, ExitStack() as stack, psycopg.connect(database, autocommit=True) as conn:
        for _ in range(4):
            endpoint(database, CONFIG, receiver.url, max_in_flight=4)
        shorten_leases(database)
        conn.execute("update svc.webhook_endpoints set timeout = '2 s'")
        webhooks.send_many(conn, "order.created", [{"id": number} for number in range(DELIVERIES // 4)])
        conn.execute("update svc.webhook_deliveries set max_attempts = 50")
        running = [stack.enter_context(ExitStack()) for _ in range(WORKERS)]
        for worker in running:
            worker.enter_context(worker_process(database, CONFIG))
        receiver.wait_for(1)
        for worker in running:
            worker.close()
        are_killed.set()
        for worker in running:
            worker.enter_context(worker_process(database, CONFIG))
        for _ in range(KILLS):
            receiver.wait_for(len(receiver.requests) + chances.randint(1, DELIVERIES // KILLS - 20))
            unlucky = chances.choice(running)
            unlucky.close()
            unlucky.enter_context(worker_process(database, CONFIG))
        wait_until(
            lambda: scalar(conn, "select not exists (select from svc.webhook_deliveries where status = 'pending')"),
            "nothing is pending",
            limit=timedelta(seconds=30),
        )
    outcomes = defaultdict(list)
    for attempt in rows(database, "webhook_delivery_attempts"):
        outcomes[attempt["delivery_id"]].append(attempt["outcome"])
    received = Counter(UUID(request.headers["webhook-id"]) for request in receiver.requests)
    assert len(received) == DELIVERIES
    assert sum(made.count("lost") for made in outcomes.values()) > 0
    for delivery, made in outcomes.items():
        assert made == ["lost"] * (len(made) - 1) + ["success"]
        assert 1 <= received[delivery] <= len(made)
