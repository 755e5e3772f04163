"""Repeat a piece of work with a database, beside other tasks, and stop at once when asked to."""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg import Connection

from svc_pg.database import datestyle
from svc_pg.database.application_names import of_worker
from svc_pg.database.conninfo import NEVER_PREPARE, Conninfo
from svc_pg.webhooks.worker.worker_connections import break_off

_log = logging.getLogger(__name__)

_LONGEST_RUN: Final = 3600.0  # seconds; after that a server that does not answer is given up
_CANCEL_EVERY: Final = 0.2  # seconds
_LONGEST_CANCEL: Final = 5.0  # seconds after which the server is assumed not to hear

Work = Callable[[Connection[Any], Callable[[], bool]], bool]
"""Takes a connection in autocommit, and whether it is asked to stop; returns whether it succeeded."""


class Repeating:
    """Repeats the work about once in ``every`` until ``stop`` is called, the first time within a hundredth of that.

    An error is logged, and the next run tries again. ``name`` begins the line.
    """

    def __init__(self, conninfo: Conninfo, work: Work, *, name: str, every: timedelta) -> None:
        self._conninfo = conninfo
        self._work = work
        self._name = name
        self._every = every
        self._stopping = asyncio.Event()
        self._conn: Connection[Any] | None = None

    def stop(self) -> None:
        """Cancel the run under way; ``run`` then returns."""
        self._stopping.set()

    async def run(self, counts: Counter[str]) -> None:
        """Work until ``stop`` is called, and count each run in ``counts`` by success or failure.

        A run that was cancelled is neither.
        """
        wait = self._every * random.random() / 100  # noqa: S311 - only so that several do not start in step
        while not await self._stops_within(wait):
            running = asyncio.create_task(asyncio.to_thread(self._run_once))
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({running, stopping}, timeout=_LONGEST_RUN, return_when=asyncio.FIRST_COMPLETED)
            last_cancel = time.monotonic() + _LONGEST_CANCEL
            while not running.done():  # a cancellation may come between two statements, and then does nothing
                if self._conn is not None and time.monotonic() > last_cancel:
                    break_off(self._conn)
                else:
                    await asyncio.to_thread(self._cancel)
                await asyncio.wait({running}, timeout=_CANCEL_EVERY)
            stopping.cancel()
            if running.result():
                counts["success"] += 1
            elif not self._stopping.is_set():
                counts["failure"] += 1
            wait = self._every * random.uniform(0.9, 1.1)  # noqa: S311

    async def _stops_within(self, wait: timedelta) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait.total_seconds()):
                await self._stopping.wait()
        return self._stopping.is_set()

    def _run_once(self) -> bool:
        try:
            with self._connect() as conn:
                self._conn = conn
                datestyle.choose(conn)
                return self._work(conn, self._stopping.is_set)
        except Exception as error:  # noqa: BLE001 - deliveries go on after any error
            if not self._stopping.is_set():
                _log.error("%s failed: %s", self._name, error)
            return False
        finally:
            self._conn = None

    def _connect(self) -> Connection[Any]:
        return psycopg.connect(
            self._conninfo.bounded,
            fallback_application_name=of_worker(),
            autocommit=True,
            prepare_threshold=NEVER_PREPARE,
        )

    def _cancel(self) -> None:
        conn = self._conn
        if conn is not None:
            with suppress(psycopg.Error):
                conn.cancel_safe(timeout=1)
