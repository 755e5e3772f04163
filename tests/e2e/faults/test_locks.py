"""Workers and people at the same time: limits hold, and nobody waits for somebody who waits for him."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from signal import SIGSTOP
from threading import Barrier
from typing import Any
from uuid import UUID

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import fetch, scalar
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")
URL = "http://127.0.0.1:9/hook"
CLAIMERS = 6

Connection = psycopg.Connection[Any]


@pytest.fixture
def claimers(database: str) -> Iterator[list[Connection]]:
    connections = [psycopg.connect(database, autocommit=True) for _ in range(CLAIMERS)]
    yield connections
    for conn in connections:
        conn.close()


def acknowledge(conn: Connection, claimed: list[tuple[UUID, UUID]], disposition: str) -> None:
    """Acknowledge all these deliveries, by id and lease, in the same way."""
    outcome = "success" if disposition == "delivered" else "http_error"
    conn.execute(
        """select from svc.webhook_acknowledge(%s::uuid[], %s::uuid[], %s::text[], %s::float8[], %s::text[],
                                       '{}', '{}', %s::integer[], '{}', '{}', '{}')""",
        (
            [delivery for delivery, _ in claimed],
            [lease for _, lease in claimed],
            [disposition] * len(claimed),
            [0.0] * len(claimed),
            [outcome] * len(claimed),
            [7] * len(claimed),
        ),
    )


def claim(conn: Connection, batch: int = 10) -> list[tuple[UUID, UUID]]:
    return conn.execute("select delivery_id, lease_id from svc.webhook_claim('worker', %s)", (batch,)).fetchall()


def test_claims_at_the_same_time_never_exceed_what_an_endpoint_may_have_under_way(
    database: str, claimers: list[Connection]
) -> None:
    for _ in range(3):
        endpoint(database, CONFIG, URL, max_in_flight=4)
    webhooks.send_many(claimers[0], "order.created", [{}] * 100)

    def work(conn: Connection) -> tuple[int, int]:
        """Deliver until nothing is pending; return the most that was seen under way, and how many were claimed."""
        most, count = 0, 0
        while scalar(conn, "select exists (select from svc.webhook_deliveries where status = 'pending')"):
            claimed = claim(conn)
            most = max(
                most,
                scalar(
                    conn,
                    """select coalesce(max(n), 0) from (
                        select count(*) as n from svc.webhook_leases group by endpoint_id
                    ) q""",
                ),
            )
            acknowledge(conn, claimed, "delivered")
            count += len(claimed)
        return most, count

    with ThreadPoolExecutor(CLAIMERS) as threads:
        results = list(threads.map(work, claimers))
    assert max(most for most, _ in results) == 4
    assert sum(count for _, count in results) == 300
    assert {row["attempts"] for row in rows(database, "webhook_deliveries")} == {1}


def test_of_claims_at_the_same_time_one_probes_a_half_open_breaker(database: str, claimers: list[Connection]) -> None:
    endpoint(database, CONFIG, URL)
    webhooks.send_many(claimers[0], "order.created", [{}] * 20)
    claimers[0].execute("update svc.webhook_endpoint_state set breaker_until = now()")
    together = Barrier(CLAIMERS)

    def probe(conn: Connection) -> int:
        together.wait(10)
        return len(claim(conn))

    with ThreadPoolExecutor(CLAIMERS) as threads:
        assert sum(threads.map(probe, claimers)) == 1


@pytest.mark.parametrize("disposition", ["gone", "failed"])
@pytest.mark.parametrize("action", [endpoints.delete, endpoints.disable, endpoints.pause])
def test_results_are_recorded_while_somebody_is_changing_their_endpoint(
    database: str, claimers: list[Connection], action: Any, disposition: str
) -> None:
    key, _ = endpoint(database, CONFIG, URL)
    worker = claimers[0]
    webhooks.send(worker, "order.created", {})
    claimed = claim(worker)
    with psycopg.connect(database) as person:
        fetch(person, action(key))
        acknowledge(worker, claimed, disposition)
    [delivery] = rows(database, "webhook_deliveries")
    assert delivery["status"] == ("canceled" if disposition == "gone" else "failed")


def hold_up_claims(conn: Connection) -> None:
    """Hold what a claim holds, until the transaction ends."""
    conn.execute("lock table svc.webhook_claim_lock in share update exclusive mode")


def wait_for_a_claim(conn: Connection) -> None:
    """Return when a claim waits."""
    waits = "select exists (select from pg_locks where relation = 'svc.webhook_claim_lock'::regclass and not granted)"
    wait_until(lambda: scalar(conn, waits), "a claim waits")


def test_a_lease_begins_after_the_wait_for_other_claims(database: str, claimers: list[Connection]) -> None:
    endpoint(database, CONFIG, URL)
    holder, worker, watcher, *_ = claimers
    webhooks.send(worker, "order.created", {})
    with ThreadPoolExecutor() as threads:
        with holder.transaction():
            hold_up_claims(holder)
            claiming = threads.submit(claim, worker)
            wait_for_a_claim(watcher)
            moment = scalar(watcher, "select clock_timestamp()")
        assert len(claiming.result(10)) == 1
    [lease] = rows(database, "webhook_leases")
    assert lease["lease_until"] > moment + timedelta(seconds=30)


def test_a_worker_that_is_frozen_in_its_claim_keeps_no_other_from_claiming(
    database: str, claimers: list[Connection]
) -> None:
    holder, sender, watcher, *_ = claimers
    with receiving() as receiver, ExitStack() as stack:
        for _ in range(3):
            endpoint(database, CONFIG, receiver.url, max_in_flight=16)
        webhooks.send_many(sender, "order.created", [{"text": "x" * 260_000}] * 16)  # more than sockets buffer
        with holder.transaction():
            hold_up_claims(holder)
            frozen = stack.enter_context(worker_process(database, CONFIG, concurrency=100))
            wait_for_a_claim(watcher)
            frozen.send_signal(SIGSTOP)
        # its claim goes on in the server, and must not take what is sent next
        leases = "select count(*) = 3 * 16 from svc.webhook_leases"
        wait_until(lambda: scalar(watcher, leases), "the frozen worker has its leases")
        sender.execute("update svc.webhook_endpoints set max_in_flight = 17")
        webhooks.send(sender, "order.created", {"id": 7})
        with working(database, CONFIG):
            requests = receiver.wait_for(3)
    assert [json.loads(request.body)["data"] for request in requests] == [{"id": 7}] * 3
