"""Nothing that waits is forgotten, whoever changes deliveries and endpoints in what order."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.query import fetch, scalar
from svc_pg.webhooks import endpoints
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from tests.support.hooks import endpoint, hooks_config
from tests.support.queue import add_due, add_endpoints, end_leases, misplaced, postpone

CONFIG = hooks_config("order.created")
URL: Final = "http://127.0.0.1:9/hook"

Connection = psycopg.Connection[Any]
Claimed = tuple[str, str]
"""A delivery and its lease."""


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def claim(conn: Connection) -> list[Claimed]:
    return conn.execute("select delivery_id::text, lease_id::text from svc.webhook_claim('worker', 100)").fetchall()


def acknowledge(conn: Connection, claimed: Claimed, disposition: str) -> None:
    outcome = "success" if disposition == "delivered" else "http_error"
    conn.execute(
        """select svc.webhook_acknowledge(
               array[%s]::uuid[], array[%s]::uuid[], array[%s], '{0}', array[%s], '{200}', '{null}', '{5}',
               '{null}', '{null}', '{null}')""",
        (*claimed, disposition, outcome),
    )


def send(conn: Connection, *keys: str) -> None:
    for key in keys:
        webhooks.send(conn, "order.created", {}, key=key)


class Sleeper:
    """A worker that sleeps from its creation on."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self._notifications: list[psycopg.Notify] = []
        conn.add_notify_handler(self._notifications.append)
        conn.execute("listen svc_webhooks")
        conn.execute("select pg_advisory_lock(%s, %s)", Lock.WAKEUP.key)

    def is_woken(self) -> bool:
        """True if it was notified since the last call."""
        self._conn.execute("select 1")  # brings what came before
        is_woken = bool(self._notifications)
        self._notifications.clear()
        return is_woken


@pytest.fixture
def sleeper(database: str) -> Iterator[Sleeper]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield Sleeper(conn)


@pytest.mark.parametrize("end", ["retry", "released", "lost"])
def test_an_older_one_that_somebody_tries_again_goes_on_when_a_newer_one_returns(
    database: str, db: Connection, end: str
) -> None:
    endpoint(database, CONFIG, URL, ordering="key")
    send(db, "a", "a")
    [older] = claim(db)
    acknowledge(db, older, "failed")
    [newer] = claim(db)
    fetch(db, deliveries.retry(older[0]))
    assert claim(db) == []  # one of a key at a time
    if end == "lost":
        end_leases(db)
    else:
        acknowledge(db, newer, end)
    assert [delivery for delivery, _ in claim(db)] == [older[0]]


@pytest.mark.parametrize("close", [endpoints.disable, endpoints.delete])
def test_what_a_failed_one_blocks_is_canceled_with_its_endpoint(database: str, db: Connection, close: Any) -> None:
    key, _ = endpoint(database, CONFIG, URL, ordering="strict")
    send(db, "a", "a", "a")
    [first] = claim(db)
    acknowledge(db, first, "failed")
    assert claim(db) == []
    with psycopg.connect(database) as other:  # which the cancellation does not wait for
        other.execute("select from svc.webhook_deliveries where status = 'pending' for update")
        close(db, key)
        assert claim(db) == []
    assert claim(db) == []
    assert [row.status for row in deliveries.query().list(db).data] == ["canceled", "canceled", "failed"]
    assert misplaced(db) == []
    assert scalar(db, "select count(*) from svc.webhook_freed") == 0


def test_a_failure_beside_a_change_of_ordering_blocks_nothing_for_ever(database: str, db: Connection) -> None:
    key, _ = endpoint(database, CONFIG, URL, ordering="strict")
    send(db, "a", "a")
    [first] = claim(db)
    with psycopg.connect(database) as person:
        endpoints.update(person, key, ordering="key")
        acknowledge(db, first, "failed")
        assert claim(db) == []
    claim(db)
    assert scalar(db, "select count(*) from svc.webhook_leases") == 1


def test_a_success_that_closes_a_breaker_while_its_endpoint_is_parked_lets_it_go_on(
    database: str, db: Connection
) -> None:
    endpoint(database, CONFIG, URL)
    many = add_endpoints(db, 100)
    add_due(db, many[:1], 1)
    [probe] = claim(db)
    db.execute("update svc.webhook_endpoint_state set breaker_until = now() + interval '30 min'")
    add_due(db, many, 1)
    with psycopg.connect(database) as worker:
        acknowledge(worker, probe, "delivered")
        assert claim(db) == []
    assert scalar(db, "select count(*) from svc.webhook_parked_endpoints") == len(many)
    assert len(claim(db)) == 1


def test_a_long_queue_does_not_hold_up_another_that_was_paused_with_it(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    many = add_endpoints(db, 70)
    db.execute("update svc.webhook_endpoints set status = 'paused' where id = any(%s)", (many,))
    add_due(db, many[:2], 1100)
    add_due(db, many[2:], 1)
    waiting = "select exists (select from svc.webhook_queue where lane = 'due' and endpoint_id <> all(%s))"
    while scalar(db, waiting, (many[:2],)):  # long queues stay where they are
        assert claim(db) == []
    for key in many[:2]:
        endpoints.resume(db, str(key))
    claim(db)
    assert db.execute("select distinct endpoint_id from svc.webhook_leases").rowcount == 2


def test_the_cancellation_of_what_comes_first_wakes_a_worker(database: str, db: Connection, sleeper: Sleeper) -> None:
    endpoint(database, CONFIG, URL, ordering="key")
    send(db, "a", "a")
    first = scalar(db, "select delivery_id::text from svc.webhook_queue order by sequence limit 1")
    postpone(db, timedelta(hours=1), "id = %s", (first,))
    assert claim(db) == []
    sleeper.is_woken()
    fetch(db, deliveries.cancel(first))
    assert sleeper.is_woken()
    assert len(claim(db)) == 1


def test_many_that_come_due_at_once_wake_workers_until_the_last_is_looked_at(
    database: str, db: Connection, sleeper: Sleeper
) -> None:
    endpoint(database, CONFIG, URL)
    paused, active = add_endpoints(db, 2)
    endpoints.pause(db, str(paused))
    add_due(db, [paused], 1500)
    add_due(db, [active], 1)
    db.execute("update svc.webhook_queue set lane = 'later'")
    sleeper.is_woken()
    assert claim(db) == []
    assert sleeper.is_woken()
    assert len(claim(db)) == 1
    assert not sleeper.is_woken()


def test_many_notes_of_freed_keys_wake_workers_until_the_last_is_looked_at(
    database: str, db: Connection, sleeper: Sleeper
) -> None:
    endpoint(database, CONFIG, URL, ordering="key")
    send(db, "a", "a")
    [first] = claim(db)
    assert claim(db) == []
    db.execute("""insert into svc.webhook_freed (endpoint_id, key_id)
                  select endpoint_id, 0 from svc.webhook_endpoint_state, generate_series(1, 1500)""")
    acknowledge(db, first, "delivered")
    sleeper.is_woken()
    assert claim(db) == []
    assert sleeper.is_woken()
    assert len(claim(db)) == 1
    assert not sleeper.is_woken()
