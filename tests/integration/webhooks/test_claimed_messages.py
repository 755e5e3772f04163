"""Claims: an idle worker POSTs after one round trip, small messages come with the claim, a stopping one gives back."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from threading import Event
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.conninfo import Conninfo
from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.dispatcher import Dispatcher
from svc_pg.webhooks.worker.leases import Lease, Message
from svc_pg.webhooks.worker.wakeup import Wakeup
from svc_pg.webhooks.worker.worker_connections import Connection, connected
from tests.support.costs import first_cost
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.queue import add_due, add_endpoints
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")


async def claimed(database: str) -> tuple[list[Lease], dict[str, Message], dict[str, Message]]:
    """The leases of all that is due, the messages that came with them, and those read on their own."""
    async with connected(Conninfo.parse(database)) as conn:
        held, brought = await leases.claim(conn, worker="w", batch=200, after=None)
        read = await leases.messages(conn, [lease.message_id for lease in held])
        return held, brought, {message.id: message for message in read}


def test_a_claim_brings_the_first_eight_messages_but_no_large_one(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook", max_in_flight=20)
    with psycopg.connect(database) as conn:
        for number in range(12):
            note = "x" * 2_100 if number == 0 else "x"
            webhooks.send(conn, "order.created", {"id": number, "note": note})
            conn.commit()  # ids of one millisecond are in no order, and times of one transaction are one
    held, brought, read = asyncio.run(claimed(database))
    first = [lease.message_id for lease in held[:8]]
    assert (len(held), len(read)) == (12, 12)
    assert brought == {key: read[key] for key in first if len(read[key].body) < 2_000}
    assert len(brought) == 7


def test_a_claim_reads_no_other_messages_whatever_the_planner_knows(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        add_due(conn, add_endpoints(conn, 1), 5_000)
        unknown = first_cost(conn, leases._CLAIM, ("worker", 100, None))
        conn.execute("analyze svc.webhook_messages")
        known = first_cost(conn, leases._CLAIM, ("worker", 100, None))
    assert "webhook_messages" not in unknown.scanned | known.scanned
    assert (unknown.rows["webhook_messages"], known.rows["webhook_messages"]) == (8, 8)


def test_an_idle_worker_posts_before_it_has_told_senders_that_it_is_awake(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeps, posted, told = 0, Event(), Wakeup.wake_up
    fall_asleep = Wakeup.fall_asleep

    async def noted(wakeup: Wakeup) -> bool:
        nonlocal sleeps
        sleeps += (granted := await fall_asleep(wakeup))
        return granted

    async def late(wakeup: Wakeup) -> None:
        assert await asyncio.to_thread(posted.wait, 10)
        await told(wakeup)

    async def no_read(_: Dispatcher, __: Connection, ids: Collection[str]) -> dict[str, Message]:
        assert not ids
        return {}

    monkeypatch.setattr(
        "svc_pg.webhooks.worker.wakeup._LONGEST_SLEEP", timedelta(minutes=1)
    )  # none but a sender wakes it
    monkeypatch.setattr(Wakeup, "fall_asleep", noted)
    monkeypatch.setattr(Wakeup, "wake_up", late)
    monkeypatch.setattr(Dispatcher, "_read_messages", no_read)
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker, psycopg.connect(database) as conn:
            wait_until(lambda: sleeps, "it sleeps")
            webhooks.send(conn, "order.created", {"id": 7})
            conn.commit()
            receiver.wait_for(1)
            assert not posted.is_set()
            posted.set()
            wait_until(lambda: worker.statistics.deliveries["delivered"], "it is recorded")


def test_what_is_claimed_just_as_the_worker_stops_is_given_back_unsent(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = leases.claim

    async def claim_and_stop(conn: Connection, **options: Any) -> tuple[list[Lease], dict[str, Message]]:
        found = await claim(conn, **options)
        if found[0]:
            worker.stop()
        return found

    monkeypatch.setattr(leases, "claim", claim_and_stop)
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker, psycopg.connect(database) as conn:
            webhooks.send(conn, "order.created", {"id": 7})
            conn.commit()
            wait_until(lambda: not worker.is_alive, "it has stopped")
    assert (receiver.requests, rows(database, "webhook_leases")) == ([], [])
    [delivery] = rows(database, "webhook_deliveries")
    assert (delivery["status"], delivery["attempts"]) == ("pending", 0)
