"""A receiver that asks to wait gets nothing until then, and pays for it only if it goes on for a day."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.webhooks import endpoints
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth
from tests.support.hooks import endpoint, hooks_config, working
from tests.support.postgres import Prepare
from tests.support.queue import misplaced, postpone
from tests.support.raw_receiver import in_a_thread, saying
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
AT_ONCE: Final = 8

Connection = psycopg.Connection[Any]
Claimed = dict[str, Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook", max_in_flight=AT_ONCE)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    """In autocommit, with 20 deliveries that are due."""
    with psycopg.connect(database, autocommit=True) as conn:
        webhooks.send_many(conn, "order.created", [{}] * 20)
        yield conn


def claim(db: Connection, number: int = AT_ONCE) -> list[Claimed]:
    return db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', %s)", (number,)).fetchall()


def acknowledge(db: Connection, claimed: Sequence[Claimed], disposition: str, *, wait: float = 0) -> None:
    outcome = "success" if disposition == "delivered" else "http_error"
    number = len(claimed)
    accepted = scalar(
        db,
        """select cardinality(accepted) from svc.webhook_acknowledge(
               %s, %s, %s, %s, %s, %s, '{}', %s, '{}', '{}', '{}')""",
        (
            [each["delivery_id"] for each in claimed],
            [each["lease_id"] for each in claimed],
            [disposition] * number,
            [wait] * number,
            [outcome] * number,
            [204 if disposition == "delivered" else 429] * number,
            [5] * number,
        ),
    )
    assert accepted == number
    assert misplaced(db) == []


def health(db: Connection) -> EndpointHealth:
    [found] = endpoints.health(db)
    return found


def closed_for(db: Connection) -> float:
    seconds: float = scalar(
        db, "select extract(epoch from throttled_until - now())::float8 from svc.webhook_endpoint_state"
    )
    return seconds


def throttled_since(db: Connection, ago: str) -> None:
    """Let the wait be over, and let it have begun so long ago, for the endpoint and its deliveries."""
    db.execute("update svc.webhook_endpoint_state set throttled_until = now(), throttled_since = now() - %s::interval",
               (ago,))  # fmt: skip
    db.execute("update svc.webhook_deliveries set throttled_since = now() - %s::interval where throttled_attempts > 0",
               (ago,))  # fmt: skip
    postpone(db, timedelta(0))


def forget_others(db: Connection, claimed: Claimed) -> None:
    db.execute("delete from svc.webhook_queue where delivery_id <> %s", (claimed["delivery_id"],))
    db.execute("delete from svc.webhook_deliveries where id <> %s", (claimed["delivery_id"],))


def the_delivery(db: Connection, claimed: Claimed) -> Delivery:
    return webhooks.deliveries.get(db, str(claimed["delivery_id"]))


def test_nothing_starts_until_the_time_that_the_receiver_asked_for(db: Connection) -> None:
    first, *others = claim(db)
    acknowledge(db, [first], "throttled", wait=600)
    acknowledge(db, others, "delivered")  # they were under way: the receiver still asked to wait
    assert claim(db) == []
    assert 590 < closed_for(db) <= 600
    assert health(db).health == "throttled"
    assert not health(db).needs_attention
    assert scalar(db, "select svc.webhook_next_due() = throttled_until from svc.webhook_endpoint_state")
    throttled_since(db, "0")
    assert len(claim(db)) == AT_ONCE
    assert health(db).health == "healthy"


def test_refusals_count_neither_as_attempts_nor_for_the_breaker_and_are_on_record(db: Connection) -> None:
    refused = claim(db, 1)
    forget_others(db, refused[0])
    for turn in range(15):
        refused = refused if turn == 0 else claim(db, 1)
        assert [each["attempt"] for each in refused] == [1]
        acknowledge(db, refused, "throttled")
        throttled_since(db, "1 min")
        assert health(db).failure_streak == 0
    delivery = the_delivery(db, refused[0])
    assert (delivery.status, delivery.attempts, delivery.throttled_attempts) == ("pending", 15, 15)
    attempts = webhooks.deliveries.attempts(db, delivery.id)
    assert [(each.outcome, each.status_code) for each in attempts] == [("http_error", 429)] * 15
    acknowledge(db, claim(db, 1), "retry", wait=60)
    assert (the_delivery(db, refused[0]).attempts, health(db).failure_streak) == (16, 1)


@pytest.mark.parametrize(("since", "endpoint_waits", "delivery_waits"), [
    ("0", 1, 1), ("10 s", 10, 10), ("20 min", 300, 1200), ("5 hours", 300, 3600),
])  # fmt: skip
def test_a_receiver_that_does_not_say_how_long_is_left_alone_for_longer_each_time(
    db: Connection, since: str, endpoint_waits: float, delivery_waits: float
) -> None:
    refused = claim(db, 1)
    forget_others(db, refused[0])
    acknowledge(db, refused, "throttled")
    assert closed_for(db) == pytest.approx(1, abs=0.5)
    throttled_since(db, since)
    acknowledge(db, claim(db, 1), "throttled")
    assert closed_for(db) == pytest.approx(endpoint_waits, abs=0.5)
    next_at = the_delivery(db, refused[0]).next_attempt_at
    assert next_at is not None
    seconds = scalar(db, "select extract(epoch from %s - now())::float8", (next_at,))
    assert seconds == pytest.approx(delivery_waits, abs=0.5)


def test_after_a_day_refusals_count_as_failures_and_end(db: Connection) -> None:
    last = claim(db, 1)
    forget_others(db, last[0])
    acknowledge(db, last, "throttled")
    for number in range(1, 6):
        throttled_since(db, "25 hours")
        db.execute("update svc.webhook_endpoint_state set breaker_until = null")
        acknowledge(db, claim(db, 1), "throttled")
        assert health(db).failure_streak == number
    delivery = the_delivery(db, last[0])
    assert (delivery.status, delivery.attempts, delivery.throttled_attempts) == ("failed", 6, 1)
    webhooks.deliveries.retry(db, delivery.id)  # begins a new day
    db.execute("update svc.webhook_endpoint_state set throttled_until = now(), breaker_until = null")
    acknowledge(db, claim(db, 1), "throttled")
    assert the_delivery(db, last[0]).status == "pending"


def test_a_resume_ends_the_wait(db: Connection) -> None:
    refused = claim(db, 1)
    acknowledge(db, refused, "throttled", wait=3600)
    assert claim(db) == []
    endpoints.resume(db, str(refused[0]["endpoint_id"]))
    assert len(claim(db)) == AT_ONCE


def test_a_success_after_the_wait_forgets_it(db: Connection) -> None:
    acknowledge(db, claim(db, 1), "throttled", wait=5)
    throttled_since(db, "1 hour")
    acknowledge(db, claim(db, 1), "delivered")
    assert closed_for(db) is None
    acknowledge(db, claim(db, 1), "throttled")
    assert closed_for(db) == pytest.approx(1, abs=0.5)


def test_the_probe_of_a_half_open_breaker_that_is_told_to_wait_probes_again(db: Connection) -> None:
    db.execute("update svc.webhook_endpoint_state"
               " set failure_streak = 12, failing_since = now(), breaker_until = now(), breaker_count = 2")  # fmt: skip
    acknowledge(db, claim(db), "throttled", wait=5)
    throttled_since(db, "0")
    assert len(claim(db)) == 1
    assert scalar(db, "select (failure_streak, breaker_count)::text from svc.webhook_endpoint_state") == "(12,2)"


@pytest.mark.parametrize(("answer", "counts"), [
    (b"429 Too Many Requests\r\nRetry-After: 600", False), (b"429 Too Many Requests", False),
    (b"503 Unavailable\r\nRetry-After: 600", False), (b"503 Unavailable", True),
])  # fmt: skip
def test_a_worker_heeds_what_the_receiver_asks(database: str, db: Connection, answer: bytes, *, counts: bool) -> None:
    with in_a_thread(saying(b"HTTP/1.1 " + answer + b"\r\nContent-Length: 0\r\n\r\n")) as url:
        db.execute("update svc.webhook_endpoints set url = %s, max_in_flight = 1", (url,))
        with working(database, CONFIG) as worker:
            wait_until(lambda: scalar(db, "select exists (select from svc.webhook_delivery_attempts)"))
    assert (worker.statistics.deliveries["throttled"] > 0) is not counts
    assert (health(db).failure_streak > 0) is counts
    error = scalar(db, "select error from svc.webhook_delivery_attempts limit 1")
    assert error.endswith("asks to wait 600 s") is (b"600" in answer and not counts)
    if b"600" in answer:
        assert closed_for(db) > 590
