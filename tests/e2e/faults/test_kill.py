"""A worker that is killed loses nothing, and sends again only what the receiver may not have got."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.breakpoints import ACKNOWLEDGEMENT, CLAIM, held_up
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.leases import shorten_leases
from tests.support.receiver import Received, Receiver, receiving
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")


@pytest.fixture
def receiver(database: str) -> Iterator[Receiver]:
    """A receiver whose endpoint has short leases."""
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        shorten_leases(database)
        yield receiver


def send(database: str) -> None:
    """Make one delivery pending."""
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {"id": 7})


def delivered_after_the_lease(database: str) -> list[tuple[int, str]]:
    """Have another worker deliver what the killed one held; return the numbers and outcomes of the attempts."""
    [held] = rows(database, "webhook_leases")
    assert [(row["status"], row["attempts"]) for row in rows(database, "webhook_deliveries")] == [("pending", 0)]
    with working(database, CONFIG):
        wait_until(lambda: rows(database, "webhook_deliveries")[0]["status"] == "delivered", "it is delivered")
    attempts = rows(database, "webhook_delivery_attempts")
    assert held["lease_until"] <= attempts[-1]["started_at"] <= held["lease_until"] + timedelta(seconds=5)
    return [(attempt["attempt"], attempt["outcome"]) for attempt in attempts]


def assert_equal(first: Received, second: Received) -> None:
    """The receiver can tell that it is the same delivery."""
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert json.loads(first.body)["data"] == {"id": 7}


@contextmanager
def stuck_before_its_post(database: str) -> Iterator[int]:
    """Send, and hold up the worker that has claimed it and asks for its endpoint; enter to get its backend's pid."""
    with (
        psycopg.connect(database) as blocker,
        psycopg.connect(database, autocommit=True) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with held_up(database, CLAIM) as claimed:
            send(database)
            backend = claimed()
            # whoever asks for the lock first gets it when the claim commits
            locking = threads.submit(blocker.execute, "lock table svc.webhook_endpoints in access exclusive mode")
            wait_until(
                lambda: scalar(
                    watcher, "select exists (select from pg_locks where mode = 'AccessExclusiveLock' and not granted)"
                ),
                "the lock is asked for",
            )
        locking.result(timeout=10)
        wait_until(
            lambda: scalar(
                watcher,
                """select exists (select from pg_locks where relation = 'svc.webhook_endpoints'::regclass
                                     and not granted and mode = 'AccessShareLock')""",
            ),
            "the worker wants to know where to send it",
        )
        yield backend


def test_killed_between_claim_and_post_it_is_sent_once(database: str, receiver: Receiver) -> None:
    with worker_process(database, CONFIG) as worker, stuck_before_its_post(database):
        worker.kill()
        worker.wait()
    assert receiver.requests == []
    assert delivered_after_the_lease(database) == [(1, "lost"), (2, "success")]
    assert len(receiver.requests) == 1


def test_a_claim_whose_connection_is_lost_before_the_post_is_given_back(database: str, receiver: Receiver) -> None:
    with working(database, CONFIG):
        with stuck_before_its_post(database) as backend, psycopg.connect(database, autocommit=True) as conn:
            terminate(conn, backend)
        receiver.wait_for(1)
        wait_until(lambda: rows(database, "webhook_deliveries")[0]["status"] == "delivered", "it is delivered")
    attempts = rows(database, "webhook_delivery_attempts")
    assert [(attempt["attempt"], attempt["outcome"]) for attempt in attempts] == [(1, "success")]
    assert len(receiver.requests) == 1


def test_killed_before_its_claim_commits_nothing_was_claimed(database: str, receiver: Receiver) -> None:
    send(database)
    with psycopg.connect(database, autocommit=True) as conn, held_up(database, CLAIM) as claimed:
        with worker_process(database, CONFIG):
            backend = claimed()
        terminate(conn, backend)  # which would commit what it was told, not knowing that nobody is there any more
    [delivery] = rows(database, "webhook_deliveries")
    assert delivery["attempts"] == 0
    assert rows(database, "webhook_leases") == []
    with working(database, CONFIG):
        receiver.wait_for(1)


def test_killed_between_post_and_answer_it_is_sent_again(database: str, receiver: Receiver) -> None:
    send(database)
    is_over = Event()
    receiver.answer = lambda number: 204 if number > 1 or is_over.wait(30) else 500
    with worker_process(database, CONFIG):
        receiver.wait_for(1)
    assert delivered_after_the_lease(database) == [(1, "lost"), (2, "success")]
    is_over.set()
    assert len(receiver.requests) == 2
    assert_equal(*receiver.requests)


def test_killed_before_its_acknowledgement_commits_it_is_sent_again(database: str, receiver: Receiver) -> None:
    send(database)
    with psycopg.connect(database, autocommit=True) as conn, held_up(database, ACKNOWLEDGEMENT) as acknowledged:
        with worker_process(database, CONFIG):
            backend = acknowledged()
        terminate(conn, backend)
    assert delivered_after_the_lease(database) == [(1, "lost"), (2, "success")]
    assert len(receiver.requests) == 2
    assert_equal(*receiver.requests)


def test_killed_while_its_acknowledgement_commits_it_is_not_sent_again(database: str, receiver: Receiver) -> None:
    send(database)
    with held_up(database, ACKNOWLEDGEMENT) as acknowledged, worker_process(database, CONFIG):
        acknowledged()
    wait_until(lambda: rows(database, "webhook_deliveries")[0]["status"] == "delivered", "it is delivered")
    assert len(receiver.requests) == 1
    assert [attempt["outcome"] for attempt in rows(database, "webhook_delivery_attempts")] == ["success"]


def terminate(conn: psycopg.Connection[Any], backend: int) -> None:
    """End a backend, and wait until its transaction is rolled back."""
    conn.execute("select pg_terminate_backend(%s)", (backend,))
    wait_until(
        lambda: scalar(conn, "select not exists (select from pg_stat_activity where pid = %s)", (backend,)),
        "the backend has ended",
    )
