"""If the clock of the database's server is set back, what was sent before does not wait until it has caught up."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.maintenance import maintain
from svc_pg.webhooks.worker.server_clock import may_be_set_back
from tests.support.faked_clock import FakedClock, faked_clock
from tests.support.hooks import endpoint, hooks_config, is_asleep, rows, working
from tests.support.postgres import embedded_programs, new_database, restartable
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
WAIT = timedelta(seconds=2)


@contextmanager
def database_an_hour_ahead(postgres_choice: str | None) -> Iterator[tuple[str, FakedClock]]:
    programs = Path(postgres_choice).absolute() if postgres_choice else embedded_programs()
    with ExitStack() as stack:
        start = stack.enter_context(restartable(programs))
        clock = stack.enter_context(faked_clock("+1h"))
        server = stack.enter_context(start())
        conninfo = stack.enter_context(new_database(server))
        with psycopg.connect(conninfo) as conn:
            assert scalar(conn, "select now()") > datetime.now(UTC) + timedelta(minutes=59)
        yield conninfo, clock


def send(conninfo: str, number: int, **options: Any) -> None:
    with psycopg.connect(conninfo) as conn:
        webhooks.send(conn, "order.created", {"id": number}, **options)


def are_delivered(conninfo: str, number: int) -> bool:
    return [row["status"] for row in rows(conninfo, "webhook_deliveries")] == ["delivered"] * number


def test_what_was_delayed_is_sent_after_its_delay_and_holds_its_key_no_longer(postgres_choice: str | None) -> None:
    with database_an_hour_ahead(postgres_choice) as (conninfo, clock), receiving() as receiver:
        endpoint(conninfo, CONFIG, receiver.url, ordering="key")
        with working(conninfo, CONFIG), psycopg.connect(conninfo, autocommit=True) as conn:
            send(conninfo, 1, delay=WAIT, key="order 1")
            wait_until(lambda: is_asleep(conn), "the worker sleeps")
            clock.set("+0")
            send(conninfo, 2, key="order 1")
            wait_until(lambda: are_delivered(conninfo, 2), "both are delivered")
        assert [json.loads(request.body)["data"]["id"] for request in receiver.wait_for(2)] == [1, 2]


def test_a_retry_a_breaker_and_a_lost_lease_wait_no_longer_than_they_would_have(postgres_choice: str | None) -> None:
    with (
        database_an_hour_ahead(postgres_choice) as (conninfo, clock),
        receiving(lambda _: 500) as receiver,
        psycopg.connect(conninfo, autocommit=True) as conn,
    ):
        retries = CONFIG.model_copy(update={"webhooks": CONFIG.webhooks.model_copy(update={"retry": [WAIT] * 4})})
        endpoint(conninfo, retries, receiver.url, max_in_flight=50)
        with working(conninfo, retries):
            for number in range(12):
                send(conninfo, number)
            wait_until(
                lambda: scalar(conn, "select breaker_until from svc.webhook_endpoint_state"), "the breaker opens"
            )
        for number in range(12, 14):
            send(conninfo, number)
        conn.execute("update svc.webhook_endpoint_state set breaker_until = null")
        assert len(conn.execute("select * from svc.webhook_claim('one that is killed', 1)").fetchall()) == 1
        conn.execute("update svc.webhook_endpoint_state set breaker_until = now() + interval '30 s'")
        clock.set("+0")
        assert maintain(conn, retries)
        latest = conn.execute(
            "select (select max(next_attempt_at) - now() from svc.webhook_queue),"
            " (select max(lease_until) - now() from svc.webhook_leases),"
            " (select max(breaker_until) - now() from svc.webhook_endpoint_state)"
        ).fetchone()
        assert latest is not None
        assert all(each < timedelta(minutes=5) for each in latest)
        assert scalar(conn, "select mended from svc.webhook_follow_clock(1000)") == 0, "once is enough"


def test_a_delivery_says_that_the_clock_was_set_back_until_a_worker_has_followed_it(
    postgres_choice: str | None,
) -> None:
    with database_an_hour_ahead(postgres_choice) as (conninfo, clock), psycopg.connect(conninfo) as conn:
        conn.autocommit = True
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/")
        send(conninfo, 1, delay=timedelta(minutes=1))
        [delivery] = webhooks.deliveries.list(conn)
        clock.set("+0")
        [later, set_back, _no_worker] = webhooks.deliveries.why(conn, delivery.id)
        assert (later.reason, set_back.reason) == ("later", "clock")
        assert set_back.sentence.startswith("The clock of the database's server was set back, to before 2")
        assert maintain(conn, CONFIG)
        [later, _no_worker] = webhooks.deliveries.why(conn, delivery.id)
        assert later.until is not None
        assert later.until < datetime.now(UTC) + timedelta(minutes=2)


def written_ahead(conn: psycopg.Connection, number: int, by: timedelta) -> None:
    """Deliveries as an earlier clock wrote them, that was ahead by that."""
    for each in range(number):
        webhooks.send(conn, "order.created", {"id": each}, delay=timedelta(minutes=1))
    conn.execute("update svc.webhook_queue set next_attempt_at = next_attempt_at + %s", (by,))
    conn.execute(
        "update svc.webhook_deliveries set next_attempt_at = next_attempt_at + %s, updated_at = updated_at + %s",
        (by, by),
    )
    conn.execute("update svc.webhook_endpoint_state set last_failure_at = now() + %s", (by,))


def test_all_are_followed_in_stretches(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/", ordering="none")
    with psycopg.connect(database) as conn:
        written_ahead(conn, 5, timedelta(hours=1))
        webhooks.send(conn, "order.created", {"id": 6}, delay=timedelta(hours=3))
        conn.commit()
        position: tuple[Any, ...] = (None, None, None, None)
        mended: list[int] = []
        while position[-1] is not None or not mended:
            [(*reached, rows_mended)] = conn.execute(
                "select * from svc.webhook_follow_clock(2, %s, %s, %s, %s)", position
            )
            position = tuple(reached)
            mended.append(rows_mended)
        conn.commit()
        assert (sum(mended), max(mended)) == (5, 2)
        waits = conn.execute(
            "select round(extract(epoch from d.next_attempt_at - now()) / 60)::integer"
            "  from svc.webhook_queue q join svc.webhook_deliveries d"
            "    on d.id = q.delivery_id and d.next_attempt_at = q.next_attempt_at order by 1"
        ).fetchall()
    assert waits == [(1,)] * 5 + [(180,)]


def test_a_clock_that_was_corrected_by_seconds_changes_nothing(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    with psycopg.connect(database, autocommit=True) as conn:
        written_ahead(conn, 1, timedelta(seconds=4))
        before = rows(database, "webhook_queue")
        assert conn.execute("select * from svc.webhook_follow_clock(1000)").fetchall() == [(None, None, None, None, 0)]
    assert rows(database, "webhook_queue") == before


def test_a_worker_that_never_hears_the_time_does_not_ask_at_each_poll() -> None:
    assert not may_be_set_back(None, None)
    assert may_be_set_back(None, 100.0)
    assert may_be_set_back(100.0, 94.0)
    assert not may_be_set_back(100.0, 96.0)
    assert not may_be_set_back(100.0, None)
