"""A worker's connections: they notice quickly that the other end is gone, and are opened again without limit."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import ReadOnlySqlTransaction

from svc_pg.conninfo import Conninfo
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

Connection = AsyncConnection[Any]

_WAITS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_SETTLED: Final = 10.0  # seconds after which a connection counts as good, and the next loss as a new one
_REMIND_EVERY: Final = 12  # failures: about once a minute

# A server that has become a standby refuses to write; with target_session_attrs=read-write the next one is another.
_LOST: Final = (OperationalError, ReadOnlySqlTransaction)


@asynccontextmanager
async def connected(conninfo: Conninfo) -> AsyncIterator[Connection]:
    """Enter to open a connection in autocommit; leaving closes it."""
    # no prepared statements: PgBouncer in transaction mode does not keep them
    conn = await AsyncConnection.connect(
        conninfo.bounded, fallback_application_name="svc-pg worker", autocommit=True, prepare_threshold=None
    )
    try:
        yield conn
    finally:
        await conn.close()  # its own ``async with`` does not if the task is cancelled in it


class Reconnecting:
    """Does work on a connection that is opened again whenever it is lost. ``is_up`` tells whether it is open."""

    def __init__(self, conninfo: Conninfo, *, stopping: asyncio.Event, statistics: Statistics) -> None:
        self.is_up = False
        self._conninfo = conninfo
        self._stopping = stopping
        self._statistics = statistics

    async def run(self, work: Callable[[Connection], Awaitable[None]], *, tries_when_stopping: int = 0) -> None:
        """Do ``work`` to its end; start it again with a new connection whenever the last one is lost.

        Once the worker is stopping, give up after ``tries_when_stopping`` more failures.
        """
        failures = 0
        clock = asyncio.get_running_loop().time
        while True:
            up_since = None
            try:
                async with connected(self._conninfo) as conn:
                    up_since = clock()
                    if failures:
                        _log.info("connected to the database again")
                        self._statistics.reconnects += 1
                    self.is_up = True
                    return await work(conn)
            except _LOST as error:
                if up_since is not None and clock() - up_since > _SETTLED:
                    failures = 0
                if failures % _REMIND_EVERY == 0:
                    _log.warning(
                        "no connection to the database, trying until there is one: %s",
                        str(error).partition("\n")[0],
                    )
                failures += 1
                if self._stopping.is_set() and failures > tries_when_stopping:
                    return None
            finally:
                self.is_up = False
            await self._pause(_WAITS[min(failures, len(_WAITS)) - 1])

    async def _pause(self, seconds: float) -> None:
        if self._stopping.is_set():
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
