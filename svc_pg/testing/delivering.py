"""Run a real worker until nothing is due."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.config import Config
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.statements import statement
from svc_pg.testing.databases import address_of, connected
from svc_pg.testing.this_machine import ThisMachine
from svc_pg.webhooks.http.http1_transport import Http1Transport
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.worker.worker import Worker

_CONCURRENCY: Final = 50
_POLL_SECONDS: Final = 0.02
_URLS: Final = """
select distinct e.url
  from svc.webhook_endpoints e
 where exists (select from svc.webhook_queue q where q.endpoint_id = e.id)
"""
_RETRY_NOW: Final = statement("queries/testing/retry_now.sql")
_END_THROTTLING: Final = statement("queries/testing/end_throttling.sql")
_IS_IDLE: Final = statement("queries/testing/is_idle.sql")


def deliver(where: Any, *, keys: KeyRing, config: Config, timeout: timedelta = timedelta(seconds=30)) -> None:
    """Deliver the due webhooks of a test database with a real worker, and return when none is due.

    ``where`` is its address, or a connection of psycopg, SQLAlchemy or Django to it; the worker has its own.

    Retries come at once instead of after their waits. Messages whose ``delay`` has not passed stay, and so do those for
    an endpoint that is paused, whose circuit breaker ten failures in a row have opened, or whose receiver has asked to
    wait as often as a delivery has attempts.

    Raises ConfigError for a database that does not look like one of tests, EndpointError if a webhook would leave this
    machine, and TimeoutError. In a test that is async itself: ``await asyncio.to_thread(deliver, ...)``.
    """
    address = address_of(where)
    with connected(address) as conn:
        guard = ThisMachine()
        for (url,) in conn.execute(_URLS).fetchall():
            guard.check_url(url)
    with ThreadPoolExecutor(1) as thread:  # a loop may run in the thread of the caller
        thread.submit(asyncio.run, _deliver(address, keys, config, timeout)).result()


async def _deliver(address: str, keys: KeyRing, config: Config, patience: timedelta) -> None:
    transport = Http1Transport(ThisMachine(), concurrency=_CONCURRENCY)
    worker = Worker(address, keys=keys, config=config, concurrency=_CONCURRENCY, transport=transport)
    await worker.start()
    try:
        async with asyncio.timeout(patience.total_seconds()):
            await _until_idle(address)
    except TimeoutError:
        seconds = patience.total_seconds()
        raise TimeoutError(f"webhooks are still due after {seconds:g} s; worker: {worker.problem or 'ok'}") from None
    finally:
        await worker.stop()


async def _until_idle(address: str) -> None:
    conninfo = Conninfo.parse(address).bounded
    async with await AsyncConnection.connect(conninfo, autocommit=True) as conn:
        while True:
            await conn.execute(_END_THROTTLING)
            await conn.execute(_RETRY_NOW)
            [is_idle] = await (await conn.execute(_IS_IDLE)).fetchone() or [True]
            if is_idle:
                return
            await asyncio.sleep(_POLL_SECONDS)
