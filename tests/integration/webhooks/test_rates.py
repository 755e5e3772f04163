"""An endpoint with a rate gets no more attempts in any second, however many workers there are."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.query import scalar
from svc_pg.webhooks import endpoints
from tests.support.costs import settled_cost
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.receiver import receiving

CONFIG = hooks_config("order.created")
URL: Final = "http://127.0.0.1:9/hook"
RATE: Final = 40
WORKERS: Final = 3
SECOND: Final = timedelta(seconds=1)

Connection = psycopg.Connection[Any]


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def claim(conn: Connection, batch: int = 100) -> int:
    return conn.execute("select from svc.webhook_claim('worker', %s)", (batch,)).rowcount


def most_within_a_second(times: list[datetime]) -> int:
    return max(sum(start <= each < start + SECOND for each in times) for start in times)


def test_workers_together_start_no_more_in_any_second(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, rate_per_second=RATE, max_in_flight=1000)
    webhooks.send_many(db, "order.created", [{}] * 10 * RATE)
    end = time.monotonic() + 30

    def work(batch: int) -> None:
        with psycopg.connect(database, autocommit=True) as conn:
            while scalar(conn, "select count(*) from svc.webhook_leases") <= 2 * RATE and time.monotonic() < end:
                claim(conn, batch)

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(work, [1, 7, 100]))
    started = sorted(row["leased_at"] for row in rows(database, "webhook_leases"))
    assert most_within_a_second(started) == RATE
    assert len(started) > 2 * RATE  # at once, after one second, and after two


def test_a_rate_that_is_reached_holds_up_nobody_else_and_says_until_when(database: str, db: Connection) -> None:
    limited, _ = endpoint(database, CONFIG, URL, rate_per_second=5, max_in_flight=100)
    endpoint(database, CONFIG, URL, max_in_flight=100)
    webhooks.send_many(db, "order.created", [{}] * 20)
    assert claim(db) == 5 + 20
    assert claim(db) == 0
    first = scalar(db, "select min(leased_at) from svc.webhook_leases")
    due = scalar(db, "select svc.webhook_next_due()")
    assert due == first + SECOND
    db.execute("update svc.webhook_rates set started_at = array[now() - interval '1 s']")
    assert claim(db) == 5
    endpoints.update(db, limited, rate_per_second=8)
    assert claim(db) == 3
    endpoints.update(db, limited, rate_per_second=None)
    assert claim(db) == 7


def test_a_paused_endpoint_with_a_rate_starts_nothing(database: str, db: Connection) -> None:
    limited, _ = endpoint(database, CONFIG, URL, rate_per_second=5)
    webhooks.send_many(db, "order.created", [{}] * 3)
    endpoints.pause(db, limited)
    assert claim(db) == 0


def test_a_claim_without_rates_reads_none(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    webhooks.send_many(db, "order.created", [{}] * 3)
    assert settled_cost(db, "select * from svc.webhook_claim('worker', 10)").rows["webhook_rates"] == 0


def test_a_worker_sends_on_when_the_rate_allows_it(database: str) -> None:
    with receiving() as receiver, psycopg.connect(database, autocommit=True) as conn:
        endpoint(database, CONFIG, receiver.url, rate_per_second=4)
        webhooks.send_many(conn, "order.created", [{}] * 10)
        started = time.monotonic()
        with working(database, CONFIG):
            receiver.wait_for(10)
        assert 1.9 < time.monotonic() - started < 10  # a worker that did not know when to go on would sleep 5 s twice


def test_a_claim_that_goes_round_counts_once_what_it_starts(database: str, db: Connection) -> None:
    """It starts a part of them at first, as another waits too, and more when it has found nothing else."""
    endpoint(database, CONFIG, URL, rate_per_second=90, max_in_flight=1000)
    webhooks.send_many(db, "order.created", [{}] * 95)
    endpoint(database, CONFIG, URL)
    webhooks.send_many(db, "order.created", [{}] * 5)
    db.execute("select from svc.webhook_claim('worker', 80, '00000000-0000-0000-0000-000000000001')")
    count = "select count(*) from svc.webhook_leases l join svc.webhook_rates w on w.endpoint_id = l.endpoint_id"
    started = scalar(db, count)
    assert started > 41  # its share of the batch
    assert scalar(db, "select sum(n) from svc.webhook_rates, unnest(started) n") == started


def test_a_clock_that_is_set_back_stops_no_endpoint(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, rate_per_second=5, max_in_flight=100)
    webhooks.send_many(db, "order.created", [{}] * 20)
    assert claim(db) == 5
    db.execute("update svc.webhook_rates set started_at = array[now() + interval '1 hour']")
    assert claim(db) == 5
    assert claim(db) == 0
