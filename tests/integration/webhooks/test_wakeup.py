"""A worker that sleeps is woken where it can be, polls where it cannot, and leaves little behind when it is gone."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.conninfo import Conninfo
from svc_pg.webhooks.worker.connections import connected
from svc_pg.webhooks.worker.wakeup import waking
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
