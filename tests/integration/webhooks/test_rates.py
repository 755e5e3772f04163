"""An endpoint with a rate gets no more attempts in any second, one after the other, however many workers there are."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc_pg import webhooks
from svc_pg.database.query import scalar
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


def paced(conn: Connection, rate: int, now: datetime, spent: datetime | None, wanted: int) -> tuple[int, datetime]:
    """The number that a claim at that time starts of those that it wants, and until when the rate is spent then."""
    startable = scalar(conn, "select startable from svc.webhook_pace(%s, %s, %s, 0)", (rate, spent, now))
    noting = (rate, spent, now, min(startable, wanted))
    return noting[-1], scalar(conn, "select spent_until from svc.webhook_pace(%s, %s, %s, %s)", noting)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rate=st.integers(1, 50) | st.integers(1, 10_000),
    claims=st.lists(st.tuples(st.integers(0, 300_000), st.integers(1, 400)), min_size=30, max_size=60),
)
def test_no_more_than_the_rate_starts_within_any_second_whenever_claims_come(
    db: Connection, rate: int, claims: list[tuple[int, int]]
) -> None:
    """Each claim comes so many microseconds after the one before, and has room for so many."""
    now, spent = datetime(2026, 1, 31, tzinfo=UTC), None
    starts: list[tuple[datetime, int]] = []
    for pause, wanted in claims:
        now += timedelta(microseconds=pause)
        started, spent = paced(db, rate, now, spent, wanted)
        assert started <= 0.03 * rate + 1  # at once
        starts.append((now, started))
    assert all(sum(n for at, n in starts if begin <= at < begin + SECOND) <= rate for begin, _ in starts)


@pytest.mark.parametrize("rate", [1, 3, 20, 1000, 10_000])
def test_claims_that_come_when_they_are_told_to_reach_the_rate(db: Connection, rate: int) -> None:
    """Each comes 10 ms after the time at which a worker without work wakes up."""
    begin = now = datetime(2026, 1, 31, tzinfo=UTC)
    spent, total = None, 0
    while now < begin + max(2 * SECOND, 40 * SECOND / rate):
        started, spent = paced(db, rate, now, spent, 10_000)
        assert started > 0
        total += started
        full_until = scalar(db, "select full_until from svc.webhook_pace(%s, %s, %s, 0)", (rate, spent, now))
        now = max(full_until, now) + timedelta(milliseconds=10)
    assert 0.95 * rate < total / (now - begin).total_seconds() <= rate


def test_claims_of_several_workers_keep_the_pace_together(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, rate_per_second=RATE, max_in_flight=1000)
    webhooks.send_many(db, "order.created", [{}] * RATE)
    end = time.monotonic() + 30

    def work(batch: int) -> None:
        with psycopg.connect(database, autocommit=True) as conn:
            while scalar(conn, "select count(*) from svc.webhook_leases") < RATE and time.monotonic() < end:
                claim(conn, batch)

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(work, [1, 7, 100]))
    started = sorted(row["leased_at"] for row in rows(database, "webhook_leases"))
    earliest = started[0] - timedelta(milliseconds=30, microseconds=1)
    assert all(at > earliest + each * SECOND / (0.97 * RATE) for each, at in enumerate(started))
    assert len(started) == RATE


def test_a_rate_that_is_reached_holds_up_nobody_else_and_says_until_when(database: str, db: Connection) -> None:
    limited, _ = endpoint(database, CONFIG, URL, rate_per_second=1, max_in_flight=100)
    endpoint(database, CONFIG, URL, max_in_flight=100)
    webhooks.send_many(db, "order.created", [{}] * 20)
    assert claim(db) == 1 + 20
    assert claim(db) == 0
    first = scalar(db, "select min(leased_at) from svc.webhook_leases")
    due = scalar(db, "select svc.webhook_next_due()")
    assert due == first + timedelta(seconds=1 / 0.97) - timedelta(milliseconds=30)
    db.execute("update svc.webhook_rates set spent_until = now()")
    assert claim(db) == 1
    endpoints.update(db, limited, rate_per_second=None)
    assert claim(db) == 18


def test_a_claim_notes_the_starts_of_each_rate_beside_endpoints_that_have_none_or_start_nothing(
    database: str, db: Connection
) -> None:
    endpoint(database, CONFIG, URL)
    endpoint(database, CONFIG, URL, rate_per_second=1000, ordering="strict")  # one of a key at a time
    limited, _ = endpoint(database, CONFIG, URL, rate_per_second=1)
    noted = """select max(l.leased_at) < max(w.spent_until)
                 from svc.webhook_leases l join svc.webhook_rates w on w.endpoint_id = l.endpoint_id
                where w.endpoint_id = %s"""
    for started in (3, 2):
        webhooks.send(db, "order.created", {}, key="a")
        db.execute("update svc.webhook_rates set spent_until = now()")
        assert claim(db) == started
        assert scalar(db, noted, (limited,))


def test_a_paused_endpoint_with_a_rate_starts_nothing(database: str, db: Connection) -> None:
    limited, _ = endpoint(database, CONFIG, URL, rate_per_second=5)
    webhooks.send_many(db, "order.created", [{}] * 3)
    endpoints.pause(db, limited)
    assert claim(db) == 0


def test_a_claim_without_rates_reads_none(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    webhooks.send_many(db, "order.created", [{}] * 3)
    assert settled_cost(db, "select * from svc.webhook_claim('worker', 10)").rows["webhook_rates"] == 0


def test_a_worker_sends_on_whenever_the_rate_allows_it(database: str) -> None:
    with receiving() as receiver, psycopg.connect(database, autocommit=True) as conn:
        endpoint(database, CONFIG, receiver.url, rate_per_second=100)
        webhooks.send_many(conn, "order.created", [{}] * 100)
        started = time.monotonic()
        with working(database, CONFIG):
            receiver.wait_for(100)
        assert 0.99 < time.monotonic() - started < 10  # it sleeps 5 s each time that it does not know when to go on


def test_a_claim_that_goes_round_counts_once_what_it_starts(database: str, db: Connection) -> None:
    """It starts a part of them at first, as another waits too, and more when it has found nothing else."""
    endpoint(database, CONFIG, URL, rate_per_second=3000, max_in_flight=1000)
    webhooks.send_many(db, "order.created", [{}] * 95)
    endpoint(database, CONFIG, URL)
    webhooks.send_many(db, "order.created", [{}] * 5)
    db.execute("select from svc.webhook_claim('worker', 80, '00000000-0000-0000-0000-000000000001')")
    [(started, spent)] = db.execute(
        """select count(*), extract(epoch from max(w.spent_until - l.leased_at))::float8
             from svc.webhook_leases l join svc.webhook_rates w on w.endpoint_id = l.endpoint_id"""
    ).fetchall()
    assert started > 41  # its share of the batch
    assert spent == pytest.approx(started / (0.97 * 3000), abs=1e-5)


def test_a_clock_that_is_set_back_stops_no_endpoint(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, rate_per_second=1000, max_in_flight=100)
    webhooks.send_many(db, "order.created", [{}] * 100)
    assert claim(db) == 30
    db.execute("update svc.webhook_rates set spent_until = now() + interval '1 hour'")
    assert claim(db) == 0
    ahead = scalar(db, "select spent_until - now() from svc.webhook_pace(1000, now() + interval '1 hour', now(), 0)")
    assert ahead < timedelta(milliseconds=40)
