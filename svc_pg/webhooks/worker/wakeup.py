"""Wake a worker when there is work: no constant polling, and no NOTIFY in every transaction that sends.

A worker with nothing to do takes an advisory lock exclusively and listens. A sender tries the same lock in shared mode:
if that is refused, a worker is asleep, and only then does the sender notify (see sql/webhooks/webhook_notify.sql.j2).
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg.rows import scalar_row

from svc_pg.advisory_locks import Lock
from svc_pg.conninfo import Conninfo
from svc_pg.webhooks.worker.connections import Connection, connected
from svc_pg.webhooks.worker.reminders import Reminders, reason

_log = logging.getLogger(__name__)

_LONGEST_SLEEP: Final = timedelta(seconds=5)
_LONGEST_ANSWER: Final = 10.0  # seconds; not below the longest sleep, which is a wait for the server too
_AGAIN: Final = 5.0  # seconds after which a connection to listen on is tried again
_WAKE: Final = "select pg_catalog.pg_advisory_unlock(%s, %s), pg_catalog.pg_advisory_unlock(%s, %s)"
# The server then notices within a minute that a sleeper's machine is gone, and releases its locks
_NOTICE_LOSS: Final = """
select set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false)
"""


@asynccontextmanager
async def waking(conninfo: Conninfo, *, claiming: Connection, interval: timedelta) -> AsyncIterator["Wakeup"]:
    """Enter to get the waits of a worker that claims on ``claiming``, and listen on a connection to ``conninfo``."""
    wakeup = Wakeup(interval=interval)
    listening = asyncio.create_task(wakeup.listen(conninfo, claiming=claiming))
    try:
        yield wakeup
    finally:
        listening.cancel()
        await asyncio.wait({listening})
        if not listening.cancelled():
            listening.result()


class Wakeup:
    """The waits of one worker without work. ``interval`` is how often to poll while nothing can wake the worker."""

    _conn: Connection  # once it listens

    def __init__(self, *, interval: timedelta) -> None:
        self._interval = interval
        self._listens = asyncio.Event()

    async def listen(self, conninfo: Conninfo, *, claiming: Connection) -> None:
        """Listen until cancelled; a connection that cannot be opened is tried again.

        Returns if a notification would not arrive: through a pooler, whose server connections change hands, and in
        another database than the one that ``claiming`` leads to.
        """
        is_told = False
        reminders = Reminders()
        while True:
            try:
                async with connected(conninfo) as conn:
                    if not await self._can_listen(conn, claiming):
                        return
                    await conn.execute(_NOTICE_LOSS)
                    await conn.execute("listen svc_webhooks")
                    conn.longest = _LONGEST_ANSWER
                    if is_told:
                        _log.info("the worker listens now")
                    self._conn = conn
                    self._listens.set()
                    await asyncio.Event().wait()  # whoever waits on the connection notices its loss
            except psycopg.Error as error:
                is_told = True
                if reminders.is_due(message := f"it cannot listen: {reason(error)}"):
                    self._tell(message)
            await asyncio.sleep(_AGAIN)

    async def _can_listen(self, conn: Connection, claiming: Connection) -> bool:
        # a pooler makes up the process id that it tells its clients
        if await _scalar(conn, "select pg_backend_pid()") != conn.info.backend_pid:
            self._tell("a pooler is in front of PostgreSQL; give a direct listen address")
            return False
        async with conn.transaction():
            await _scalar(conn, "select pg_catalog.pg_advisory_xact_lock(%s, %s)", Lock.LISTENER.key)
            if await _scalar(claiming, "select pg_catalog.pg_try_advisory_xact_lock_shared(%s, %s)", Lock.LISTENER.key):
                self._tell("the listen address leads to another database")
                return False
        return True

    def _tell(self, reason: str) -> None:
        _log.warning("the worker polls every %s s: %s", self._interval.total_seconds(), reason)

    async def fall_asleep(self) -> bool:
        """Tell senders that a worker sleeps. False if a sender is about to commit or another worker sleeps already.

        After an exception while it sleeps, the connection must end, and the lock with it.
        """
        if not self._listens.is_set():
            return False
        granted = bool(await _scalar(self._conn, "select pg_catalog.pg_try_advisory_lock(%s, %s)", Lock.WAKEUP.key))
        if granted:
            await _scalar(self._conn, "select pg_catalog.pg_advisory_lock(%s, %s)", Lock.SLEEPER.key)
        return granted

    async def wake_up(self) -> None:
        """Tell senders that it sleeps no longer. Call it while asleep."""
        await self._conn.execute(_WAKE, (*Lock.SLEEPER.key, *Lock.WAKEUP.key))

    async def wait(self, *, within: timedelta | None = None) -> None:
        """Wait until notified, or for ``within`` (5 s at most). Call it while asleep."""
        await _notified(self._conn, _LONGEST_SLEEP if within is None else min(within, _LONGEST_SLEEP))

    async def wait_briefly(self) -> None:
        """Wait briefly, or until notified. Used when sleep was refused.

        At most 50 ms if a sender is about to commit; at most 2 s if another worker sleeps, which will be notified.
        """
        if not self._listens.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval.total_seconds()):
                    await self._listens.wait()
            return
        # a lock of the statement alone, released at its end
        is_alone = await _scalar(
            self._conn, "select pg_catalog.pg_try_advisory_xact_lock_shared(%s, %s)", Lock.SLEEPER.key
        )
        jitter = random.uniform(0.02, 0.05)  # noqa: S311 - only so that several workers do not poll in step
        await _notified(self._conn, timedelta(seconds=jitter if is_alone else 40 * jitter))


async def _notified(conn: Connection, limit: timedelta) -> None:
    async for _ in conn.notifies(timeout=limit.total_seconds(), stop_after=1):
        pass


async def _scalar(conn: Connection, text: Any, params: tuple[int, int] | None = None) -> Any:
    async with conn.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(text, params)).fetchone()
