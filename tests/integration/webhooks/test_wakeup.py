"""A worker that sleeps leaves little behind when its whole machine is gone."""

import asyncio
from datetime import timedelta

import pytest

from svc_pg.conninfo import Conninfo
from svc_pg.webhooks.worker.connections import connected
from svc_pg.webhooks.worker.wakeup import Wakeup


def test_the_server_notices_within_a_minute_that_the_machine_of_a_sleeper_is_gone(database: str) -> None:
    async def seconds() -> list[int]:
        async with connected(Conninfo.parse(database)) as ear:
            if ear.info.host.startswith("/"):
                pytest.skip("the server is reached by a socket file, so by the same machine")
            await Wakeup(ear, interval=timedelta(seconds=2)).listen()
            found = await ear.execute(
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
