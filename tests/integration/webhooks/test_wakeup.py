"""A worker that sleeps is woken where it can be, polls where it cannot, and leaves little behind when it is gone."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.conninfo import Conninfo
from svc_pg.webhooks.worker.wakeup import Wakeup, waking
from svc_pg.webhooks.worker.worker_connections import connected
from tests.support.forwarder import forwarding
from tests.support.hooks import endpoint, hooks_config, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
NEVER = timedelta(hours=1)
OFTEN = timedelta(milliseconds=20)


def send(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        webhooks.send(conn, "order.created", {})


def test_a_worker_that_cannot_listen_polls_until_it_can(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with forwarding(database) as (_, unreachable), receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG, listen_conninfo=unreachable, interval=OFTEN) as worker:
            wait_until(lambda: "polls every 0.02 s: it cannot listen: " in caplog.text, "it says so")
            send(database)
            receiver.wait_for(1)
            assert worker.problem is None
            assert worker.statistics.reconnects == 0


def test_a_worker_that_could_not_listen_does_so_once_it_can(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._AGAIN", 0.05)
    with forwarding(database) as (way, unreachable), receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG, listen_conninfo=unreachable, interval=NEVER):
            wait_until(lambda: "it cannot listen: " in caplog.text, "it says so")
            way.open()
            for number in range(3):
                send(database)
                receiver.wait_for(number + 1)


def test_a_worker_that_would_listen_in_another_database_polls(
    database: str, empty_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG, listen_conninfo=empty_database, interval=OFTEN):
            wait_until(lambda: "the listen address leads to another database" in caplog.text, "it says so")
            send(database)
            receiver.wait_for(1)


def test_a_worker_claims_all_that_is_due_before_it_asks_to_sleep(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it does, senders need not wake it, and each of its claims is one round trip."""
    fall_asleep, arrived = Wakeup.fall_asleep, list[int]()
    with receiving() as receiver:

        async def observed(wakeup: Wakeup) -> bool:
            arrived.append(len(receiver.requests))
            return await fall_asleep(wakeup)

        monkeypatch.setattr(Wakeup, "fall_asleep", observed)
        endpoint(database, CONFIG, receiver.url)
        for _ in range(5):
            send(database)
        with working(database, CONFIG, concurrency=1):
            receiver.wait_for(5)
            wait_until(lambda: arrived, "it asks to sleep")
    assert arrived[0] == 5


def test_the_server_notices_within_a_minute_that_the_machine_of_a_sleeper_is_gone(database: str) -> None:
    async def seconds() -> list[int]:
        address = Conninfo.parse(database)
        async with connected(address) as claiming, waking(address, claiming=claiming, interval=NEVER) as wakeup:
            if claiming.info.host.startswith("/"):
                pytest.skip("the server is reached by a socket file, so by the same machine")
            await wakeup.wait_briefly()  # until it listens
            found = await wakeup._conn.execute(
                """select idle.setting::integer + every.setting::integer * tries.setting::integer,
                          unsent.setting::integer / 1000
                     from pg_settings idle, pg_settings every, pg_settings tries, pg_settings unsent
                    where idle.name = 'tcp_keepalives_idle' and every.name = 'tcp_keepalives_interval'
                      and tries.name = 'tcp_keepalives_count' and unsent.name = 'tcp_user_timeout'"""
            )
            return list(await found.fetchone() or ())

    silent, unsent = asyncio.run(seconds())
    assert 0 < silent < 60
    assert 0 < unsent < 60


def test_one_worker_polls_for_all_while_a_transaction_that_sends_is_open_and_names_it(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._TELL_AFTER", 0.0)
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and (classid, objid) = (%s, %s) and granted"
    with receiving() as receiver, psycopg.connect(database, application_name="a long import") as sender:
        endpoint(database, CONFIG, receiver.url)
        webhooks.send(sender, "order.created", {"id": 1})
        with working(database, CONFIG), working(database, CONFIG), psycopg.connect(database, autocommit=True) as conn:
            wait_until(lambda: "a transaction that has sent webhooks is open" in caplog.text, "one of them says so")
            [told] = [each for each in caplog.messages if "has sent webhooks" in each]
            pid = sender.info.backend_pid
            assert f"process {pid} of PostgreSQL, role postgres, application 'a long import', idle in" in told
            assert conn.execute(waiting, Lock.SLEEPER.key).fetchone() == (1,)
            send(database)  # others are heard meanwhile
            receiver.wait_for(1)
            sender.commit()
            receiver.wait_for(2)
            wait_until(lambda: conn.execute(waiting, Lock.WAKEUP.key).fetchone() == (1,), "one of them sleeps")


@pytest.mark.parametrize(("seconds", "least", "most"), [(0, 0.02, 0.05), (2, 0.2, 0.3), (3600, 0.5, 0.5)])
def test_polls_become_rarer_the_longer_a_transaction_that_sends_is_open(
    database: str, monkeypatch: pytest.MonkeyPatch, seconds: float, least: float, most: float
) -> None:
    limits: list[float] = []

    async def noting(_: object, limit: timedelta) -> None:
        limits.append(limit.total_seconds())

    async def poll() -> None:
        address = Conninfo.parse(database)
        async with connected(address) as claiming, waking(address, claiming=claiming, interval=NEVER) as wakeup:
            await wakeup.wait_briefly()  # until it listens
            assert not await wakeup.fall_asleep()
            wakeup._polls_since -= seconds
            monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._notified", noting)
            await wakeup.wait_briefly()
            await wakeup.wait_briefly(within=timedelta(milliseconds=1))  # a rate or a retry that is due is not late

    with psycopg.connect(database) as sender:
        sender.execute("select pg_advisory_xact_lock_shared(%s, %s)", Lock.WAKEUP.key)
        asyncio.run(poll())
    assert least <= limits[0] <= most
    assert limits[1] == 0.01
