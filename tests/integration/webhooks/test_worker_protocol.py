"""A worker and the functions of its database know how far they are apart."""

import asyncio
from threading import Event

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import NotInstalledError, ProtocolError
from svc_pg.webhooks import Worker
from svc_pg.webhooks.worker import protocol
from tests.support.hooks import KEYS, endpoint, hooks_config, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
SPEAK = """
create or replace function svc.webhook_protocol(out oldest integer, out newest integer)
language sql immutable as $$ select {}, {} $$
"""

TERMINATE = """
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and starts_with(application_name, 'svc-pg worker')
"""


def speak(conninfo: str, oldest: int, newest: int) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(SPEAK.format(oldest, newest).encode())


def run(conninfo: str) -> None:
    asyncio.run(Worker(conninfo, keys=KEYS, config=CONFIG).run())


def test_the_functions_speak_the_newest_protocol_of_the_worker(conn: psycopg.Connection) -> None:
    newest = scalar(conn, "select newest from svc.webhook_protocol()")
    assert newest == protocol.NEWEST


def test_a_worker_that_is_too_old_does_not_start(database: str) -> None:
    speak(database, protocol.NEWEST + 1, protocol.NEWEST + 2)
    told = f"from {protocol.NEWEST + 1} on, and this worker up to {protocol.NEWEST}"
    with pytest.raises(ProtocolError, match=told) as raised:
        run(database)
    assert raised.value.hint == "The worker is too old: deploy the svc-pg that installed the database."


def test_a_database_that_is_too_old_is_refused(database: str) -> None:
    speak(database, protocol.OLDEST - 2, protocol.OLDEST - 1)
    told = f"up to {protocol.OLDEST - 1}, and this worker from {protocol.OLDEST} on"
    with pytest.raises(ProtocolError, match=told) as raised:
        run(database)
    assert raised.value.hint == "The database is too old. Run: svc-pg install"


def test_functions_of_the_next_release_still_serve_this_worker(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        speak(database, protocol.NEWEST, protocol.NEWEST + 1)
        with working(database, CONFIG), psycopg.connect(database) as conn:
            webhooks.send(conn, "order.created", {"id": 1})
            conn.commit()
            receiver.wait_for(1)


def test_functions_of_before_get_the_refusals_of_a_receiver_as_failures(database: str) -> None:
    with receiving(lambda _: 429) as receiver, psycopg.connect(database, autocommit=True) as conn:
        endpoint(database, CONFIG, receiver.url)
        speak(database, protocol.THROTTLED - 1, protocol.THROTTLED - 1)
        webhooks.send(conn, "order.created", {"id": 1})
        with working(database, CONFIG):
            wait_until(lambda: scalar(conn, "select attempts from svc.webhook_deliveries"))
        waits = "next_attempt_at - updated_at >= '1 min'"
        assert conn.execute(f"select status, throttled_attempts, {waits} from svc.webhook_deliveries").fetchall() == [
            ("pending", 0, True)
        ]


def test_a_database_without_svc_is_named(empty_database: str) -> None:
    with pytest.raises(NotInstalledError):
        run(empty_database)


def test_a_worker_that_meets_newer_functions_when_it_reconnects_finishes_and_ends(database: str) -> None:
    answered = Event()

    def answer(_: int) -> int:
        assert answered.wait(30)
        return 204

    with receiving(answer) as receiver, psycopg.connect(database, autocommit=True) as conn:
        endpoint(database, CONFIG, receiver.url)
        webhooks.send(conn, "order.created", {"id": 1})

        def meet() -> None:
            with working(database, CONFIG) as worker:
                receiver.wait_for(1)
                speak(database, protocol.NEWEST + 1, protocol.NEWEST + 2)
                conn.execute(TERMINATE)
                wait_until(lambda: worker.statistics.reconnects > 0, "the worker is connected again")
                answered.set()
                wait_until(lambda: not worker.is_alive, "the worker has ended")

        with pytest.raises(ProtocolError):
            meet()
        assert scalar(conn, "select status from svc.webhook_deliveries") == "delivered"
