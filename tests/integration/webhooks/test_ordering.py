"""Endpoints with an ordering get the messages of a key one at a time, in the order of their sequences."""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import fetch, scalar
from svc_pg.webhooks import endpoints
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from tests.support.chance import chance
from tests.support.costs import settled_cost
from tests.support.hooks import PLACES, endpoint, hooks_config, rows
from tests.support.leases import shorten_leases
from tests.support.queue import end_leases, misplaced, postpone
from tests.support.receiver import receiving
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")
URL: Final = "http://127.0.0.1:9/hook"
SENDERS: Final = 8
WORKERS: Final = 3
KEYS: Final = ("a", "b", "c", "d")
EACH: Final = 12  # messages of a sender

Connection = psycopg.Connection[Any]


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@dataclass(frozen=True)
class Claimed:
    """A delivery and its lease, with the key of its message and its place among those of the key."""

    id: UUID
    lease: UUID
    key: str | None
    place: int | None

    @property
    def name(self) -> str | None:
        return self.key and f"{self.key}{self.place}"


def claim(conn: Connection, batch: int = 10) -> list[Claimed]:
    """Ordered by key; the keys in a statement of its own, as it has an older snapshot than a claim that waits."""
    claimed = conn.execute("select delivery_id, lease_id, message_id from svc.webhook_claim('worker', %s)", (batch,))
    leases = claimed.fetchall()
    messages = conn.execute(f"select id, key, place from {PLACES} where id = any(%s)", ([row[2] for row in leases],))
    of_message = {row[0]: row[1:] for row in messages}
    found = [Claimed(delivery, lease, *of_message[message]) for delivery, lease, message in leases]
    return sorted(found, key=lambda each: (each.key is None, each.key, each.place))


def names(claimed: list[Claimed]) -> list[str | None]:
    return [each.name for each in claimed]


def acknowledge(conn: Connection, claimed: Claimed, disposition: str, wait: float = 0) -> None:
    """As a worker does: again if somebody has locked the delivery."""
    outcome = "success" if disposition == "delivered" else "http_error"
    while scalar(conn, "select exists (select from svc.webhook_leases where lease_id = %s)", (claimed.lease,)):
        conn.execute(
            """select svc.webhook_acknowledge(
                   array[%s], array[%s], array[%s], array[%s::float8], array[%s], '{200}', '{null}', '{5}', '{null}',
                   '{null}', '{null}')""",
            (claimed.id, claimed.lease, disposition, wait, outcome),
        )


def send(conn: Connection, *keys: str | None) -> None:
    for key in keys:
        webhooks.send(conn, "order.created", {}, key=key)


def test_the_next_of_a_key_starts_when_the_one_before_has_ended(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, ordering="key")
    send(db, "a", "a", "a", "a", "b", None, None)
    a1, b1, *free = claim(db)
    assert names([a1, b1, *free]) == ["a1", "b1", None, None]
    assert claim(db) == []
    acknowledge(db, a1, "delivered")
    [a2] = claim(db)
    assert a2.name == "a2"
    acknowledge(db, a2, "retry", wait=60)
    assert claim(db) == []
    postpone(db, timedelta(0))
    [a2] = claim(db)
    acknowledge(db, a2, "released")
    [a2] = claim(db)
    end_leases(db, [a2.id])
    [a2] = claim(db)
    assert a2.name == "a2"
    acknowledge(db, a2, "failed")  # and lets the next pass
    [a3] = claim(db)
    assert a3.name == "a3"
    assert misplaced(db) == []


def test_one_that_waits_for_its_time_holds_up_its_key(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, ordering="key")
    webhooks.send(db, "order.created", {}, key="a", delay=timedelta(hours=1))
    send(db, "a")
    assert claim(db) == []
    [first] = deliveries.query().list(db).data[1:]
    fetch(db, deliveries.cancel(first.id))
    assert names(claim(db)) == ["a2"]


def test_keys_keep_their_order_beside_filters_however_they_are_sent(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, ordering="key", filter="$.id > 0")
    send(db, "a")  # which it does not want
    webhooks.send(db, "order.created", {"id": 1}, key="a")
    webhooks.send_many(db, "order.created", [{"id": 1}, {"id": 0}, {"id": 1}], keys=["a", "a", "a"])
    for name in ("a2", "a3", "a5"):
        [claimed] = claim(db)
        assert claimed.name == name
        assert claim(db) == []
        acknowledge(db, claimed, "delivered")


@pytest.mark.parametrize("end", ["retry", "cancel", "change", "change and retry", "prune"])
def test_a_failed_one_blocks_its_key_if_the_ordering_is_strict(database: str, db: Connection, end: str) -> None:
    key, _ = endpoint(database, CONFIG, URL, ordering="strict")
    send(db, "a", "a", "b")
    a1, b1 = claim(db)
    acknowledge(db, a1, "failed")
    acknowledge(db, b1, "delivered")
    send(db, "a", "b")
    assert names(claim(db)) == ["b2"]
    assert claim(db) == []
    match end:
        case "retry":
            fetch(db, deliveries.retry(str(a1.id)))
            [again] = claim(db)
            assert again.id == a1.id
            acknowledge(db, again, "delivered")
        case "cancel":
            assert fetch(db, deliveries.cancel(str(a1.id)))[0].status == "canceled"
        case "change":
            endpoints.update(db, key, ordering="key")
        case "change and retry":  # a1 has no key then, so that its end frees none
            endpoints.update(db, key, ordering="none")
            fetch(db, deliveries.retry(str(a1.id)))
            fetch(db, deliveries.cancel(str(a1.id)))
        case "prune":
            old = "update svc.{} set {} = overlay({}::text placing '00000000-0000' from 1)::uuid where {} = %s"
            for table, column in (("webhook_delivery_attempts", "delivery_id"), ("webhook_blocks", "delivery_id")):
                db.execute(old.format(table, column, column, column).encode(), (a1.id,))
            db.execute(old.format("webhook_deliveries", "id", "id", "id").encode(), (a1.id,))
            db.execute("select svc.webhook_prune('0', '0')")
    assert names(claim(db)) == ["a2"]
    assert rows(database, "webhook_blocks") == []
    assert misplaced(db) == []


def test_the_next_sequence_is_behind_too(database: str, db: Connection) -> None:
    """Messages that are sent at once have sequences without gaps, others as far apart as their microseconds."""
    endpoint(database, CONFIG, URL, ordering="strict")
    webhooks.send_many(db, "order.created", [{}] * 3, keys=["a"] * 3)
    sequences = [row[0] for row in db.execute("select sequence from svc.webhook_queue order by sequence")]
    assert sequences == list(range(sequences[0], sequences[0] + 3))
    [a1] = claim(db)
    assert a1.name == "a1"
    acknowledge(db, a1, "failed")
    assert claim(db) == []
    fetch(db, deliveries.retry(str(a1.id)))
    for name in ("a1", "a2", "a3"):
        [claimed] = claim(db)
        assert claimed.name == name
        assert claim(db) == []
        acknowledge(db, claimed, "delivered")


def test_a_change_of_ordering_holds_for_what_is_sent_from_then_on(database: str, db: Connection) -> None:
    key, _ = endpoint(database, CONFIG, URL)
    send(db, "a", "a")
    endpoints.update(db, key, ordering="key")
    send(db, "a", "a")
    claimed = claim(db)
    assert names(claimed) == ["a1", "a2", "a3"]
    endpoints.update(db, key, ordering="none")
    send(db, "a")
    assert names(claim(db)) == ["a5"]
    acknowledge(db, claimed[2], "delivered")
    assert names(claim(db)) == ["a4"]


def test_what_was_sent_with_an_ordering_costs_a_claim_nothing_when_there_is_none(database: str, db: Connection) -> None:
    key, _ = endpoint(database, CONFIG, URL, ordering="key")
    webhooks.send_many(db, "order.created", [{}] * 4000, keys=["a"] * 4000)
    endpoints.update(db, key, ordering="none")
    assert names(claim(db)) == ["a1"]
    send(db, None)
    assert settled_cost(db, "select * from svc.webhook_claim('worker', 100)").rows["webhook_queue"] <= 20
    assert names(claim(db)) == [None]


def test_what_somebody_has_locked_is_not_left_behind(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, ordering="key")
    send(db, "a", "a", "b", "b")
    a1, b1 = claim(db)
    assert claim(db) == []
    with psycopg.connect(database) as person:
        waiting = scalar(person, "select delivery_id::text from svc.webhook_queue order by sequence desc limit 1")
        fetch(person, deliveries.cancel(waiting))
        for each in (a1, b1):
            acknowledge(db, each, "delivered")
        assert len(claim(db)) == 1  # the other key goes on
        person.rollback()
    assert len(claim(db)) == 1


def test_messages_that_wait_for_others_of_their_key_cost_a_claim_nothing(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, ordering="key", max_in_flight=100)
    webhooks.send_many(db, "order.created", [{}] * 4000, keys=["a", "b"] * 2000)
    assert names(claim(db, 100)) == ["a1", "b1"]
    send(db, "c", "d")
    cost = settled_cost(db, "select * from svc.webhook_claim('worker', 100)")
    assert not cost.scanned
    assert cost.rows["webhook_queue"] <= 20


@pytest.mark.parametrize("ordering", ["key", "strict"])
def test_no_key_goes_backwards_whatever_senders_and_workers_do(database: str, ordering: str) -> None:
    """Some attempts fail, some are lost, and some deliveries are given up; the last are tried again by hand."""
    for _ in range(2):
        endpoint(database, CONFIG, URL, ordering=ordering, max_in_flight=6)
    sent, lock = Event(), Lock()
    received: dict[tuple[str, str | None], list[tuple[int | None, UUID]]] = defaultdict(list)

    def send_some(number: int) -> None:
        chances = chance(number)
        with psycopg.connect(database) as conn:
            for _ in range(EACH):
                send(conn, *sorted(chances.choices(KEYS, k=chances.randint(1, 2))))  # or they would deadlock
                conn.commit() if chances.random() < 0.9 else conn.rollback()

    def work(number: int) -> None:
        chances = chance(100 + number)
        with psycopg.connect(database, autocommit=True) as conn:
            while not sent.is_set() or scalar(conn, PENDING):
                for claimed in claim(conn, 5):
                    receiver = scalar(
                        conn, "select endpoint_id::text from svc.webhook_deliveries where id = %s", (claimed.id,)
                    )
                    with lock:
                        received[receiver, claimed.key].append((claimed.place, claimed.id))
                    match chances.choices(["delivered", "retry", "failed", "released", "lost"], [12, 3, 1, 1, 1])[0]:
                        case "lost":
                            end_leases(conn, [claimed.id])
                        case disposition:
                            acknowledge(conn, claimed, disposition)
                failed = [d.id for d in deliveries.query().status("failed").list(conn)] if sent.is_set() else []
                if ordering == "strict" and failed:
                    conn.execute("select svc.webhook_retry(%s::uuid[])", (failed,))
                skip_the_waits(conn)

    with ThreadPoolExecutor() as threads:
        working = [threads.submit(work, number) for number in range(WORKERS)]
        try:
            list(threads.map(send_some, range(SENDERS)))
        finally:
            sent.set()
        for each in working:
            each.result(60)
    for seen in received.values():
        assert seen == sorted(seen, key=lambda each: each[0] or 0)
        assert len(dict(seen)) == len({key for _, key in seen})
    with psycopg.connect(database) as conn:
        assert misplaced(conn) == []
        assert scalar(conn, "select count(*) from svc.webhook_queue") == 0
        assert scalar(conn, UNRECORDED) == 0
        states = {row["status"] for row in rows(database, "webhook_deliveries")}
    assert states == {"delivered"} if ordering == "strict" else states <= {"delivered", "failed"}
    assert len({key for seen in received.values() for _, key in seen}) == len(rows(database, "webhook_deliveries"))


PENDING: Final = """
select exists (select from svc.webhook_deliveries where status = 'pending')
    or exists (select from svc.webhook_blocks)
"""
UNRECORDED: Final = """
select count(*) from svc.webhook_deliveries d
 where attempts <> (select count(*) from svc.webhook_delivery_attempts a where a.delivery_id = d.id)
"""


def skip_the_waits(conn: Connection) -> None:
    """Those that were lost more than once wait for ten seconds and more, and so does an open breaker."""
    conn.execute("update svc.webhook_endpoint_state set breaker_until = now() where breaker_until > now()")
    conn.execute(
        """with waiting as (
               select q.delivery_id from svc.webhook_queue q join svc.webhook_deliveries d on d.id = q.delivery_id
                where q.lane = 'later' order by q.delivery_id for update skip locked
           ), moved as (
               update svc.webhook_queue q set next_attempt_at = now(), lane = 'due'
                 from waiting w where q.delivery_id = w.delivery_id
           )
           update svc.webhook_deliveries d set next_attempt_at = now() from waiting w where d.id = w.delivery_id"""
    )


def test_a_worker_that_is_killed_turns_no_key_around(database: str) -> None:
    with receiving() as receiver, ExitStack() as stack, psycopg.connect(database, autocommit=True) as conn:
        endpoint(database, CONFIG, receiver.url, ordering="key")
        shorten_leases(database)
        webhooks.send_many(conn, "order.created", [{}] * 120, keys=[*KEYS, "e", "f"] * 20)
        with worker_process(database, CONFIG):
            receiver.wait_for(20)
        stack.enter_context(worker_process(database, CONFIG))
        wait_until(
            lambda: not scalar(conn, "select exists (select from svc.webhook_deliveries where status = 'pending')"),
            "everything is delivered",
            limit=timedelta(seconds=30),
        )
        numbers: dict[str, list[str]] = dict(
            conn.execute(
                f"""select d.id::text, array[places.key, place::text]
                      from svc.webhook_deliveries d join {PLACES} on places.id = d.message_id"""
            ).fetchall()
        )
    seen = defaultdict(list)
    for request in receiver.requests:
        key, place = numbers[request.headers["webhook-id"]]
        seen[key].append(int(place))
    for places in seen.values():
        assert places == sorted(places)
        assert set(places) == set(range(1, 21))


@pytest.mark.parametrize("ordering", ["none", "key"])
def test_what_was_sent_before_the_clock_was_set_back_waits_for_nothing_and_blocks_no_key(
    database: str, db: Connection, ordering: str
) -> None:
    endpoint(database, CONFIG, URL, ordering=ordering)
    webhooks.send(db, "order.created", {}, key="a")
    db.execute("update svc.webhook_deliveries set next_attempt_at = now() + interval '1 hour'")
    db.execute("update svc.webhook_queue set next_attempt_at = now() + interval '1 hour'")
    webhooks.send(db, "order.created", {}, key="a")
    first = claim(db)
    assert "a1" in names(first)
    for each in first:
        acknowledge(db, each, "delivered")
    assert names(first + claim(db)) == ["a1", "a2"]
