"""Run work on a connection that is reopened whenever it is lost, without limit, until the worker stops."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import psycopg

from svc_pg.database.conninfo import Conninfo
from svc_pg.webhooks.worker.reminders import Reminders, reason
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker_connections import Connection, break_off, connected

_log = logging.getLogger(__name__)

_WAITS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_SETTLED: Final = 10.0  # seconds after which a connection counts as good, and the next loss as a new one
_BEAT: Final = 5.0  # seconds without an answer after which the server is asked for one
_STALE: Final = 15.0  # seconds without an answer after which the connection does not count
_LAST: Final = 5.0  # seconds for the statement under way when the worker stops
_BROKEN_OFF: Final = 1.0  # seconds for work to notice that its connection was broken off

_NONE: Final = "no connection to the database, trying until there is one: %s"
_LOST: Final = "the database fails, trying on other connections until it works: %s"


def _no_time() -> float:
    return 0.0


class Reconnecting:
    """Runs work on a connection that is reopened whenever it is lost."""

    def __init__(self, conninfo: Conninfo, *, stopping: asyncio.Event, statistics: Statistics) -> None:
        self._conninfo = conninfo
        self._stopping = stopping
        self._statistics = statistics
        self._conn: Connection | None = None
        self._is_given_up = False

    @property
    def is_up(self) -> bool:
        """True if the server has answered lately."""
        return self._conn is not None and time.monotonic() - self._conn.answered_at < _STALE

    async def run(
        self, work: Callable[[Connection], Awaitable[object]], *, patience: Callable[[], float] = _no_time
    ) -> None:
        """Do ``work`` to its end; start it again with a new connection whenever the last one is lost.

        Once ``stopping`` is set, go on trying for the seconds that ``patience`` returns, then give up.
        """
        self._is_given_up = False
        working = asyncio.create_task(self._run(work, patience))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            limit = patience() if self._conn is None else max(patience(), _LAST)
            await asyncio.wait({working}, timeout=limit)
        finally:
            stopping.cancel()
            await self._give_up(working)
        if not working.cancelled():
            working.result()

    async def _give_up(self, working: asyncio.Task[None]) -> None:
        self._is_given_up = True
        if self._conn is not None and not working.done():
            break_off(self._conn)
            await asyncio.wait({working}, timeout=_BROKEN_OFF)
        working.cancel()
        await asyncio.wait({working})

    async def _run(self, work: Callable[[Connection], Awaitable[object]], patience: Callable[[], float]) -> None:
        failures = 0
        reminders = Reminders()

        def settle() -> None:
            nonlocal failures
            if failures:
                _log.info("connected to the database again")
            failures = 0
            reminders.clear()

        while True:
            settling = None
            try:
                async with connected(self._conninfo) as self._conn:
                    if failures:
                        self._statistics.reconnects += 1
                    settling = asyncio.get_running_loop().call_later(_SETTLED, settle)
                    return await _watched(work, self._conn)
            except psycopg.Error as error:
                if not _can_heal(error):
                    raise
                message = (_LOST if settling else _NONE) % reason(error)
                if reminders.is_due(message):
                    _log.warning("%s", message)
                failures += 1
                if self._is_given_up or (self._stopping.is_set() and not patience()):
                    return None
            finally:
                self._conn = None
                if settling is not None:
                    settling.cancel()
            await self._pause(_WAITS[min(failures, len(_WAITS)) - 1])

    async def _pause(self, seconds: float) -> None:
        if self._stopping.is_set():
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()


def _can_heal(error: psycopg.Error) -> bool:
    """True if the same statement may succeed later, perhaps on another server.

    A statement that is wrong or not allowed (class 42) stays so until the database or the program is changed. Among the
    others are internal errors, limits of time, and the refusal to write of a server that became a standby.
    """
    return isinstance(error, psycopg.OperationalError) or not (error.sqlstate or "42").startswith("42")


async def _watched(work: Callable[[Connection], Awaitable[object]], conn: Connection) -> None:
    """Do ``work`` while the server answers, and check that also when the work is idle. Raises OperationalError."""
    working = asyncio.ensure_future(work(conn))
    beating = asyncio.create_task(_beat(conn))
    try:
        await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            beating.result()
        await working
    finally:
        for task in (working, beating):
            task.cancel()
        await asyncio.gather(working, beating, return_exceptions=True)


async def _beat(conn: Connection) -> None:
    while True:
        await asyncio.sleep(_BEAT)
        if time.monotonic() - conn.answered_at > _BEAT and not conn.lock.locked():
            await conn.execute("select 1")
