"""The traffic over time: exact while it is small, a bounded sample that says so when it is large."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import Query, fetch, fetch_one, scalar
from svc_pg.errors import QueryError
from svc_pg.webhooks.traffic import traffic_queries
from svc_pg.webhooks.traffic.traffic_queries import traffic
from tests.support.hooks import hooks_config, install
from tests.support.postgres import Prepare
from tests.support.queue import add_due, add_endpoints

CONFIG = hooks_config("order.created")
MANY: Final = 60_000
COUNTED: Final = 1_000  # beside these, in place of 100,000
MOST: Final = 12_000 + 2 * 1_500 + COUNTED

Connection = psycopg.Connection[Any]


def add_sent(conn: Connection, endpoint: UUID, number: int, *, since: timedelta, until: timedelta, every: int) -> None:
    """So many deliveries, spread evenly over a time ago; every so many of them failed, after two attempts of 2 s."""
    conn.execute(
        """with sent as (
               select (left(svc.uuid7_at(t.at)::text, 14) || right(gen_random_uuid()::text, 22))::uuid as id,
                      n %% %(every)s = 0 as is_failed
                 from generate_series(1, %(number)s) n
                cross join lateral (
                    select now() - %(since)s + (n - 0.5) * (%(since)s - %(until)s) / %(number)s) t(at)
           ), delivery as (
               insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, status, failure, attempts,
                                                   max_attempts, next_attempt_at, finished_at)
               select id, gen_random_uuid(), %(endpoint)s, 'none',
                      case when is_failed then 'failed' else 'delivered' end,
                      case when is_failed then 'failed' end, case when is_failed then 2 else 1 end, 2, null, now()
                 from sent
           )
           insert into svc.webhook_delivery_attempts
               (delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome)
           select id, %(endpoint)s, a, now(), case when is_failed then 2000 else 100 end,
                  case when is_failed then 'timeout' else 'success' end
             from sent cross join lateral generate_series(1, case when is_failed then 2 else 1 end) a""",
        {"endpoint": endpoint, "number": number, "since": since, "until": until, "every": every},
    )


def fill(conninfo: str) -> None:
    install(conninfo, CONFIG)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        quiet, busy = add_endpoints(conn, 2)
        hour = timedelta(hours=1)
        add_sent(conn, quiet, 20, since=3 * hour, until=2 * hour, every=4)
        add_sent(conn, busy, MANY, since=60 * hour, until=30 * hour, every=10)
        conn.execute("vacuum analyze")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


def endpoints(conn: Connection) -> list[str]:
    """The quiet one and the busy one."""
    return [key for (key,) in conn.execute("select id::text from svc.webhook_endpoints order by id")]


def test_what_is_small_is_counted_exactly_in_buckets_of_utc(conn: Connection) -> None:
    found = webhooks.traffic.read(conn, by="hour", since="12h")
    assert not found.is_estimate
    assert (found.sent, found.delivered, found.failed, found.failed_attempts) == (20, 15, 5, 10)
    assert found.success_rate == 0.75
    assert (found.p50, found.p95) == (0.1, 2.0)
    assert len(found.buckets) == 13
    assert [bucket.at for bucket in found.buckets] == [found.since + n * timedelta(hours=1) for n in range(13)]
    assert all(bucket.at.minute == bucket.at.second == 0 for bucket in found.buckets)
    filled = [bucket for bucket in found.buckets if bucket.sent]
    assert 1 <= len(filled) <= 2
    assert all(bucket.p50 is not None for bucket in filled)
    assert all(bucket.p50 is None for bucket in found.buckets if not bucket.sent)


@pytest.mark.parametrize("counted", [MANY, COUNTED])
def test_what_is_large_is_estimated_from_a_sample_and_says_so(
    conn: Connection, monkeypatch: pytest.MonkeyPatch, counted: int
) -> None:
    monkeypatch.setattr(traffic_queries, "_COUNTED", counted)
    found = webhooks.traffic.read(conn, by="day", since="3d")
    assert found.is_estimate
    assert found.sent == pytest.approx(MANY, rel=0.05)
    assert found.failed == pytest.approx(MANY / 10, rel=0.1)
    assert found.failed_attempts == pytest.approx(MANY / 5, rel=0.1)
    assert found.success_rate == pytest.approx(0.9, abs=0.02)


def test_a_burst_counts_as_many_as_were_sent_and_not_as_if_it_went_on(conn: Connection) -> None:
    quiet, _ = endpoints(conn)
    add_sent(conn, UUID(quiet), 10_000, since=timedelta(minutes=90, seconds=1), until=timedelta(minutes=90), every=10)
    found = webhooks.traffic.read(conn, by="hour", since="12h")
    assert (found.sent, found.is_estimate) == (10_020, True)
    [activity] = webhooks.traffic.of_endpoints(conn, [quiet])
    assert sum(hour.sent for hour in activity.hours) == 10_020


def test_one_endpoint_has_its_own_traffic(conn: Connection) -> None:
    quiet, busy = endpoints(conn)
    found = webhooks.traffic.read(conn, by="hour", since="3d", endpoint=quiet)
    assert (found.sent, found.failed_attempts, found.is_estimate) == (20, 10, False)
    assert (found.p50, found.p95) == (0.1, 2.0)
    assert webhooks.traffic.read(conn, by="day", since="3d", endpoint=busy).sent == pytest.approx(MANY, rel=0.05)
    unknown = "00000000-0000-7000-8000-000000000000"
    assert webhooks.traffic.read(conn, endpoint=unknown).sent == 0


def test_what_waits_past_its_time_is_late_and_counts_in_the_share(conn: Connection) -> None:
    [endpoint] = add_endpoints(conn, 1)
    add_sent(conn, endpoint, 2, since=timedelta(minutes=5), until=timedelta(minutes=4), every=100)
    conn.execute(
        """insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts, last_error,
                                               next_attempt_at)
           select (left(svc.uuid7_at(now() - interval '5 min')::text, 14) || right(gen_random_uuid()::text, 22))::uuid,
                  gen_random_uuid(), %s, 'none', 5, p.error, now() + p.due
             from (values ('the endpoint answered 503', interval '1 min'), (null, '-2 min'), -- both late
                          (null, '-30 s'), (null, '1 h')) p(error, due)""",
        (endpoint,),
    )
    found = webhooks.traffic.read(conn, by="minute", since="1h", endpoint=str(endpoint))
    assert (found.sent, found.delivered, found.failed, found.late) == (6, 2, 0, 2)
    assert found.success_rate == 0.5


def test_the_activity_of_many_endpoints_comes_in_one_call(conn: Connection) -> None:
    quiet, busy = endpoints(conn)
    unknown = "00000000-0000-7000-8000-000000000000"
    found = {each.endpoint_id: each for each in webhooks.traffic.of_endpoints(conn, [quiet, busy, unknown], hours=48)}
    assert found.keys() == {quiet, busy}
    assert [len(each.hours) for each in found.values()] == [48, 48]
    assert sum(hour.sent for hour in found[quiet].hours) == 20
    assert sum(hour.sent for hour in found[busy].hours) == pytest.approx(MANY * 18 / 30, rel=0.1)
    assert (found[quiet].is_estimate, found[busy].is_estimate) == (False, True)


@pytest.mark.parametrize(
    ("by", "since", "until"),
    [("hour", "1000d", None), ("minute", "7h", None), ("week", "1d", None), ("day", "1h", "2d"), ("day", "x", None)],
)
def test_a_time_without_a_bound_is_refused(conn: Connection, by: Any, since: str, until: str | None) -> None:
    with pytest.raises(QueryError):
        webhooks.traffic.read(conn, by=by, since=since, until=until)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_that_has_no_date_in_utc_is_refused(conn: Connection, text: str) -> None:
    time = datetime.fromisoformat(text)
    with pytest.raises(QueryError):
        webhooks.traffic.read(conn, since=time)
    with pytest.raises(QueryError):
        webhooks.traffic.read(conn, until=time)


def test_endpoints_and_hours_are_bounded(conn: Connection) -> None:
    key = endpoints(conn)[0]
    for ids, hours in (([], 24), ([key] * 101, 24), ([key], 0), ([key], 49), (["x"], 24)):
        with pytest.raises(QueryError):
            webhooks.traffic.of_endpoints(conn, ids, hours=hours)


READ_BY: Final = """
select sum(idx_tup_fetch + seq_tup_read) as rows from pg_stat_xact_user_tables
 where schemaname = 'svc' and relname in ('webhook_deliveries', 'webhook_delivery_attempts')
"""


def rows_read(conn: Connection, query: Query[Any]) -> int:
    """The number of deliveries and attempts that a statement reads, those of functions included."""
    with conn.transaction(force_rollback=True):
        before = scalar(conn, READ_BY)
        fetch(conn, query)
        return int(scalar(conn, READ_BY) - before)


def test_no_more_rows_are_read_than_the_sample_has(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_queries, "_COUNTED", COUNTED)
    now = fetch_one(conn, traffic_queries.now()).time
    for by, since in (("minute", "6h"), ("hour", "3d"), ("day", "30d")):
        assert rows_read(conn, traffic(now=now, by=by, since=since)) <= MOST
    assert rows_read(conn, traffic(now=now, by="day", since="3d")) > 2000
    quiet, busy = endpoints(conn)
    assert rows_read(conn, traffic(now=now, by="day", since="3d", endpoint=busy)) <= MOST
    assert rows_read(conn, traffic(now=now, by="hour", since="3d", endpoint=quiet)) <= 20 + 30
    assert rows_read(conn, traffic_queries.activity([quiet, busy], now=now)) <= MOST


def test_statistics_that_are_missing_do_not_change_what_is_read(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic_queries, "_COUNTED", COUNTED)
    conn.execute("delete from pg_statistic where starelid = 'svc.webhook_deliveries'::regclass")
    conn.execute("update pg_class set reltuples = -1, relpages = 0 where oid = 'svc.webhook_deliveries'::regclass")
    now = fetch_one(conn, traffic_queries.now()).time
    assert rows_read(conn, traffic(now=now, by="day", since="3d")) <= MOST
    assert rows_read(conn, traffic(now=now, by="hour", since="3d", endpoint=endpoints(conn)[0])) <= 20 + 30
    conn.rollback()


def test_the_queue_is_counted_by_what_deliveries_wait_for(database: str) -> None:
    with psycopg.connect(database) as conn:
        [key] = add_endpoints(conn, 1)
        add_due(conn, [key], 3)
        conn.execute(
            "update svc.webhook_queue set lane = 'parked'"
            " where delivery_id in (select min(delivery_id::text)::uuid from svc.webhook_queue)"
        )
        waiting = webhooks.traffic.waiting(conn)
    assert (waiting.due, waiting.parked, waiting.later, waiting.in_flight) == (2, 1, 0, 0)


def test_the_beginning_is_that_of_the_database(conn: Connection) -> None:
    assert fetch_one(conn, traffic_queries.now()).time == scalar(conn, "select now()")
    late = datetime.now(UTC) + timedelta(days=365)
    with pytest.raises(QueryError):
        webhooks.traffic.read(conn, since=late)
