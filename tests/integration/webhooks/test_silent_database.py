"""A database whose network swallows everything stops no worker for long, and keeps none from being stopped."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import scalar
from svc_pg.maintenance import Maintenance
from svc_pg.webhooks.worker.database_state import StateReader
from svc_pg.webhooks.worker.wakeup import Wakeup
from svc_pg.webhooks.worker.worker import Worker
from svc_pg.webhooks.worker.worker_connections import connected
from tests.support.commands import environment
from tests.support.forwarder import forwarding
from tests.support.hooks import KEYS, KEYS_TEXT, endpoint, hooks_config, is_asleep, rows, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
FOREVER = "connect_timeout=0"
SOON = timedelta(milliseconds=50)
PROGRAM = "import svc_pg.cli; svc_pg.cli.main()"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can wait for."""
    monkeypatch.setattr("svc_pg.webhooks.worker.worker_connections._LONGEST_STATEMENT", 1.0)
    monkeypatch.setattr("svc_pg.webhooks.worker.worker_connections._LONGEST_CONNECT", 1.0)
    monkeypatch.setattr("svc_pg.webhooks.worker.reconnecting._BEAT", 0.2)
    monkeypatch.setattr("svc_pg.webhooks.worker.reconnecting._STALE", 0.6)
    monkeypatch.setattr("svc_pg.webhooks.worker.reconnecting._LAST", 0.5)
    monkeypatch.setattr("svc_pg.webhooks.worker.worker._LAST_ACKNOWLEDGEMENTS", 0.5)


def send(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        webhooks.send(conn, "order.created", {})


def statuses(conninfo: str) -> list[str]:
    return [row["status"] for row in rows(conninfo, "webhook_deliveries")]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_worker_is_not_ready_while_its_database_is_silent_and_goes_on_afterwards(
    database: str, caplog: pytest.LogCaptureFixture, *, is_busy: bool
) -> None:
    may_answer = Event()
    with (
        forwarding(database) as (way, conninfo),
        receiving(lambda _: 204 if may_answer.wait(10) else 500) as receiver,
    ):
        endpoint(database, CONFIG, receiver.url)
        way.open()
        with working(conninfo, CONFIG, concurrency=1) as worker:
            wait_until(lambda: worker.problem is None, "it is ready")
            if is_busy:  # it then waits for the only slot, and asks the database for nothing
                send(database)
                receiver.wait_for(1)
            way.is_silent = True
            wait_until(lambda: worker.problem == "no connection to the database", "it is not ready")
            wait_until(lambda: "no answer within 1 s" in caplog.text, "it gives the connection up")
            assert worker.is_alive
            may_answer.set()
            way.is_silent = False
            wait_until(lambda: worker.problem is None, "it is ready again")
            send(database)
            wait_until(lambda: set(statuses(database)) == {"delivered"}, "all are delivered")
        assert len(receiver.requests) == 1 + is_busy


def test_a_connection_to_listen_on_that_falls_silent_holds_up_no_delivery_for_long(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._LONGEST_SLEEP", timedelta(seconds=0.5))
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._LONGEST_ANSWER", 1.0)
    with forwarding(database) as (way, conninfo), receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        way.open()
        with working(database, CONFIG, listen_conninfo=conninfo), psycopg.connect(database, autocommit=True) as conn:
            wait_until(lambda: is_asleep(conn), "it sleeps")
            way.is_silent = True
            send(database)
            receiver.wait_for(1)  # it has waited long enough for news, and tells that it sleeps no longer
            send(database)
            receiver.wait_for(2)
            way.is_silent = False  # for the end of the worker


@pytest.mark.parametrize("is_told", [False, True], ids=["asleep", "waking up"])
def test_a_worker_that_stops_while_its_connection_to_listen_on_is_silent_ends_soon(
    database: str, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._LONGEST_SLEEP", timedelta(minutes=1))  # only a sender wakes it
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._LONGEST_ANSWER", 70.0)
    monkeypatch.setattr("svc_pg.webhooks.worker.reconnecting._LAST", 30.0)
    wait, wake_up = Wakeup.wait, Wakeup.wake_up
    sleeps = Event()

    async def noted(wakeup: Wakeup, *, within: timedelta | None = None) -> None:
        sleeps.set()
        await wait(wakeup, within=within)

    async def silenced(wakeup: Wakeup) -> None:
        way.is_silent = True
        await wake_up(wakeup)

    monkeypatch.setattr(Wakeup, "wait", noted)
    monkeypatch.setattr(Wakeup, "wake_up", silenced)

    async def run(listen_conninfo: str) -> None:
        worker = Worker(database, keys=KEYS, config=CONFIG, listen_conninfo=listen_conninfo)
        await worker.start()
        assert await asyncio.to_thread(sleeps.wait, 30)
        if is_told:
            send(database)
            await asyncio.to_thread(receiver.wait_for, 1)  # it has claimed while it tells that it sleeps no longer
        way.is_silent = True
        await asyncio.wait_for(worker.stop(), 10)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with forwarding(database) as (way, conninfo), receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        way.open()
        asyncio.run(run(conninfo))


@pytest.mark.usefixtures("impatient")
def test_a_worker_that_stops_while_its_database_is_silent_ends_and_says_what_will_be_sent_again(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    may_answer = Event()
    with (
        forwarding(database) as (way, conninfo),
        receiving(lambda _: 204 if may_answer.wait(10) else 500) as receiver,
    ):
        endpoint(database, CONFIG, receiver.url)
        way.open()
        with working(conninfo, CONFIG):
            send(database)
            receiver.wait_for(1)
            way.is_silent = True
            may_answer.set()
    assert "the database did not take: 1 delivery" in caplog.text


@contextmanager
def silent_server() -> Iterator[tuple[str, Event]]:
    """Enter to get the conninfo of a server that accepts connections and says nothing, and whether one has come."""
    accepted = Event()
    held = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    held.append(listener.accept()[0])
                except OSError:
                    return
                accepted.set()

        thread = Thread(target=accept)
        thread.start()
        try:
            yield f"host=127.0.0.1 port={listener.getsockname()[1]} user=svc dbname=svc {FOREVER}", accepted
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in held:
                each.close()


def test_a_worker_that_first_connects_to_a_silent_server_can_be_stopped() -> None:
    with silent_server() as (conninfo, accepted), working(conninfo, CONFIG) as worker:
        assert accepted.wait(10)
        assert worker.problem == "no connection to the database"


def test_the_command_that_first_connects_to_a_silent_server_ends_on_sigterm() -> None:
    with silent_server() as (conninfo, accepted):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "worker"],
            env=environment(DATABASE_URL=conninfo, SVC_ENCRYPTION_KEYS=KEYS_TEXT),
            stderr=subprocess.PIPE,
        )
        try:
            assert accepted.wait(20)
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) == 0
        finally:
            process.kill()
            process.communicate()


@pytest.mark.usefixtures("impatient")
def test_a_connection_to_a_silent_server_is_given_up_after_its_limit() -> None:
    async def connect(conninfo: str) -> None:
        async with connected(Conninfo.parse(conninfo)):
            raise AssertionError

    with (
        silent_server() as (conninfo, _),
        pytest.raises(psycopg.OperationalError),
    ):
        asyncio.run(connect(conninfo))


def test_the_backlog_of_a_silent_database_is_unknown(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.database_state._LONGEST_READ", 0.5)
    monkeypatch.setattr("svc_pg.webhooks.worker.database_state._FRESH", 0.0)

    async def read(conninfo: str) -> None:
        reader = StateReader(Conninfo.parse(conninfo))
        assert await reader.state() is not None
        with psycopg.connect(database) as holder:  # so that it is asked, and then hears nothing
            holder.execute("lock table svc.webhook_endpoints in access exclusive mode")
            asking = asyncio.create_task(reader.state())
            await asyncio.to_thread(wait_until, lambda: is_waiting(holder), "it waits for the table")
            way.is_silent = True
            assert await asyncio.wait_for(asking, 5) is None
        assert await asyncio.wait_for(reader.state(), 5) is None
        way.is_silent = False
        assert await asyncio.wait_for(reader.state(), 5) is not None

    with forwarding(database) as (way, conninfo):
        way.open()
        asyncio.run(read(conninfo))


def is_waiting(conn: psycopg.Connection[Any]) -> bool:
    return bool(scalar(conn, "select exists (select from pg_locks where not granted)"))


def test_maintenance_of_a_silent_database_can_be_stopped(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.maintenance.repeating._LONGEST_CANCEL", 0.5)

    async def run(conninfo: str) -> None:
        maintenance = Maintenance(conninfo, config=CONFIG, every=SOON)
        with psycopg.connect(database) as holder:
            holder.execute("lock table svc.webhook_deliveries in access exclusive mode")
            running = asyncio.create_task(maintenance.run())
            await asyncio.to_thread(wait_until, lambda: is_waiting(holder), "it waits for the table")
            way.is_silent = True
            maintenance.stop()
            await asyncio.wait_for(running, 10)

    with forwarding(database) as (way, conninfo):
        way.open()
        asyncio.run(run(conninfo))
