"""A database that goes away under load: nothing is lost, and nothing sent twice without a lost attempt on record."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.leases import shorten_leases
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import URL_VARIABLE, embedded_programs, restartable
from tests.support.receiver import Receiver, receiving
from tests.support.sending import sending
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
QUICK = timedelta(milliseconds=50)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def prepare(database: str, receiver: Receiver) -> None:
    endpoint(database, CONFIG, receiver.url, max_in_flight=50)
    shorten_leases(database)


def wait_until_all_are_delivered(database: str) -> None:
    """Within the time of a lease and what the worker takes to connect again."""
    wait_until(
        lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"},
        "everything is delivered",
        limit=timedelta(seconds=20),
    )


def assert_nothing_is_lost_or_sent_in_vain(database: str, receiver: Receiver) -> None:
    """Every message has come in, and once more at most for each attempt whose result was lost."""
    outcomes = defaultdict(list)
    for attempt in rows(database, "webhook_delivery_attempts"):
        outcomes[attempt["delivery_id"]].append(attempt["outcome"])
    received = Counter(UUID(request.headers["webhook-id"]) for request in receiver.requests)
    for delivery in rows(database, "webhook_deliveries"):
        assert outcomes[delivery["id"]].count("success") == 1
        assert len(outcomes[delivery["id"]]) == delivery["attempts"]
        assert 1 <= received[delivery["id"]] <= delivery["attempts"]
    numbers = {json.loads(request.body)["data"]["id"] for request in receiver.requests}
    assert numbers == set(range(len(rows(database, "webhook_messages"))))


@pytest.mark.parametrize("is_pooled", [False, True])
def test_its_connections_are_ended_in_turn_under_load(database: str, receiver: Receiver, *, is_pooled: bool) -> None:
    prepare(database, receiver)
    ended: list[int] = []
    with ExitStack() as stack:
        conn = stack.enter_context(psycopg.connect(database, autocommit=True))
        way = stack.enter_context(pgbouncer(database)) if is_pooled else database
        stack.enter_context(working(way, CONFIG, interval=QUICK))
        with sending(way, "order.created"):
            for _ in range(9):
                receiver.wait_for(len(receiver.requests) + 10)
                ended.append(wait_until(lambda: another_backend(conn, ended, is_pooled=is_pooled), "a new connection"))
                conn.execute("select pg_terminate_backend(%s)", (ended[-1],))
        wait_until_all_are_delivered(database)
    assert_nothing_is_lost_or_sent_in_vain(database, receiver)


def another_backend(conn: psycopg.Connection[object], known: list[int], *, is_pooled: bool) -> int | None:
    """A backend of the worker, or where a pooler stands between, one that it shares with the sender."""
    found: int | None = scalar(
        conn,
        """select pid from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and pid <> all (%s)
              and backend_type = 'client backend' and (%s or starts_with(application_name, 'svc-pg worker'))
            order by backend_start limit 1""",
        (known, is_pooled),
    )
    return found


def test_the_server_is_restarted_under_load(postgres_choice: str | None, receiver: Receiver) -> None:
    if os.environ.get(URL_VARIABLE) or str(postgres_choice).startswith("docker"):
        pytest.skip("needs a server that it can stop")
    with (
        restartable(Path(postgres_choice).absolute() if postgres_choice else embedded_programs()) as start,
        ExitStack() as stack,
    ):
        with start() as database:
            prepare(database, receiver)
            stack.enter_context(working(database, CONFIG))
            sender = stack.enter_context(ExitStack())
            sender.enter_context(sending(database, "order.created"))
            receiver.wait_for(50)
        with start():
            receiver.wait_for(len(receiver.requests) + 50)
        with start():
            receiver.wait_for(len(receiver.requests) + 50)
            sender.close()
            wait_until_all_are_delivered(database)
            assert_nothing_is_lost_or_sent_in_vain(database, receiver)
            stack.close()


def test_a_snapshot_that_is_held_open_delays_nothing(database: str, receiver: Receiver) -> None:
    prepare(database, receiver)
    with psycopg.connect(database) as dump:
        dump.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert scalar(dump, "select count(*) from svc.webhook_deliveries") == 0
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": number} for number in range(300)])
        with working(database, CONFIG):
            receiver.wait_for(300)
            wait_until_all_are_delivered(database)
        assert scalar(dump, "select count(*) from svc.webhook_deliveries") == 0
    assert_nothing_is_lost_or_sent_in_vain(database, receiver)
    assert len(receiver.requests) == 300
