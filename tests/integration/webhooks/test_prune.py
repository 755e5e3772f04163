"""Retention reads what it keeps once, and what it deletes a few times, however much of either there is."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest

from svc_pg.database.query import scalar
from svc_pg.maintenance import prune_deliveries
from tests.support.queue import add_endpoints

Connection = psycopg.Connection[Any]

WEEK: Final = timedelta(days=7)
MONTH: Final = timedelta(days=30)
BATCH: Final = 50
KEPT: Final = 2_000
OLD: Final = 1_000


@pytest.fixture
def conn(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr("svc_pg.maintenance.batches._BATCH", BATCH)
    with psycopg.connect(database, autocommit=True) as conn:
        add_endpoints(conn, 3)
        yield conn


def add(conn: Connection, number: int, status: str, age: timedelta) -> None:
    """Deliveries with attempts and messages that were sent and ended so long ago, a millisecond apart."""
    conn.execute(
        """with message as (
               insert into svc.webhook_messages (id, event_name, payload)
               select svc.uuid7_at(now() - %(age)s::interval + n * interval '1 ms'), 'none', '{}'
                 from generate_series(1, %(number)s) n
               returning id
           ), delivery as (
               insert into svc.webhook_deliveries
                   (id, message_id, endpoint_id, event_name, status, failure, max_attempts, next_attempt_at,
                    finished_at)
               select m.id, m.id, e.id, 'none', %(status)s, nullif(%(status)s, 'delivered'), 5, null,
                      now() - %(age)s::interval
                 from message m, (select id from svc.webhook_endpoints limit 1) e
               returning id, endpoint_id
           )
           insert into svc.webhook_delivery_attempts (delivery_id, endpoint_id, attempt, started_at, outcome)
           select id, endpoint_id, 1, now() - %(age)s::interval, 'http_error' from delivery""",
        {"number": number, "status": status, "age": age},
    )


def left(conn: Connection) -> list[tuple[str, int]]:
    return conn.execute("select status, count(*) from svc.webhook_deliveries group by 1 order by 1").fetchall()


@pytest.mark.parametrize("kept_age", [timedelta(days=20), timedelta(days=8)])
def test_rows_that_are_kept_are_read_once(conn: Connection, kept_age: timedelta) -> None:
    """Also rows that are younger than those that go, and not only older ones."""
    add(conn, KEPT, "failed", kept_age)
    add(conn, OLD, "delivered", timedelta(days=14))
    conn.execute("vacuum analyze svc.webhook_deliveries, svc.webhook_messages, svc.webhook_delivery_attempts")
    before = rows_read(conn)
    assert prune_deliveries(conn, delivered=WEEK, failed=MONTH) == 2 * OLD
    assert rows_read(conn) - before <= 8 * (KEPT + OLD)
    assert left(conn) == [("failed", KEPT)]
    assert scalar(conn, "select count(*) from svc.webhook_messages") == KEPT
    assert scalar(conn, "select count(*) from svc.webhook_delivery_attempts") == KEPT


def rows_read(conn: Connection) -> int:
    """Of the tables of webhooks, since the server started."""
    if conn.info.server_version >= 150000:
        conn.execute("select pg_stat_force_next_flush()")
        conn.execute("select pg_stat_clear_snapshot()")
    number: int = scalar(
        conn,
        """select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
             from pg_stat_user_tables where schemaname = 'svc' and relname like 'webhook%'""",
    )
    return number


def test_what_failed_and_what_was_delivered_go_at_their_own_ages(conn: Connection) -> None:
    for days in (6, 8, 29, 31):
        for status in ("delivered", "failed", "canceled"):
            add(conn, 1, status, timedelta(days=days, hours=len(status)))
    assert prune_deliveries(conn, delivered=WEEK, failed=MONTH) == 2 * 5
    assert left(conn) == [("canceled", 3), ("delivered", 1), ("failed", 3)]


def test_failures_may_be_kept_for_a_shorter_time(conn: Connection) -> None:
    add(conn, 3 * BATCH, "failed", timedelta(days=2))
    add(conn, 3 * BATCH, "delivered", timedelta(days=3))
    assert prune_deliveries(conn, delivered=WEEK, failed=timedelta(days=1)) == 3 * BATCH
    assert left(conn) == [("delivered", 3 * BATCH)]
