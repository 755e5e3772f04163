"""Wake a worker when there is work: no constant polling, and no NOTIFY in every transaction that sends.

A worker with nothing to do takes an advisory lock exclusively and listens. A sender tries the same lock in shared mode:
if that is refused, a worker is asleep, and only then does the sender notify (see sql/webhooks/webhook_notify.sql.j2).
While a sender's transaction is open, none can sleep: one worker polls for all, less often as time goes on. A stranger
that holds the lock causes no more than that, or a NOTIFY for each send.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg.rows import scalar_row

from svc_pg.database.advisory_locks import Lock
from svc_pg.database.conninfo import Conninfo
from svc_pg.webhooks.worker.lock_holders import holder_of
from svc_pg.webhooks.worker.reminders import Reminders, reason
from svc_pg.webhooks.worker.worker_connections import Connection, connected

_log = logging.getLogger(__name__)

_SHORTEST_SLEEP: Final = timedelta(milliseconds=10)  # many endpoints with a rate have a start due all the time
_LONGEST_SLEEP: Final = timedelta(seconds=5)
_LONGEST_ANSWER: Final = 10.0  # seconds; not below the longest sleep, which is a wait for the server too
_AGAIN: Final = 5.0  # seconds after which a connection to listen on is tried again
_LONGEST_POLL: Final = 0.5  # seconds between polls while a sender keeps workers from sleeping
_TELL_AFTER: Final = 10.0  # seconds for which it has done so
_LOOK_EVERY: Final = 1.0  # seconds between looks at the worker that waits for all: they read all locks of the server
_LOCK: Final = """
select pg_catalog.pg_try_advisory_lock(%s, %s), extract(epoch from pg_catalog.clock_timestamp())::float8
"""
_UNLOCK: Final = "select pg_catalog.pg_advisory_unlock(%s, %s)"
_WAKE: Final = f"{_UNLOCK}, pg_catalog.pg_advisory_unlock(%s, %s)"
_SERVER: Final = """
select extract(epoch from pg_catalog.pg_postmaster_start_time())::text || ' ' || d.oid
  from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()
"""
# The server then notices within a minute that a sleeper's machine is gone, and releases its locks
_NOTICE_LOSS: Final = """
select set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false)
"""


@asynccontextmanager
async def waking(conninfo: Conninfo, *, claiming: Connection, interval: timedelta) -> AsyncIterator["Wakeup"]:
    """Enter to get the Wakeup of a worker that claims on ``claiming``, and listen on a connection to ``conninfo``."""
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
    """The waits of an idle worker. ``interval`` is the interval of polls while notifications cannot arrive."""

    _conn: Connection  # once it listens

    def __init__(self, *, interval: timedelta) -> None:
        self._interval = interval
        self._listens = asyncio.Event()
        self.is_polling = False  # for all workers, while a sender keeps them from sleeping
        self.asked_at: float | None = None  # when it last tried to sleep, in unix seconds by the server's clock
        self._polls_since = 0.0  # monotonic
        self._is_told_of_sender = False
        self._has_turn = False  # holds SLEEPER
        self._is_turn_of_nobody = False  # when it last looked
        self._looks_from = 0.0  # monotonic
        self._reminders = Reminders()

    async def listen(self, conninfo: Conninfo, *, claiming: Connection) -> None:
        """Listen until cancelled; a connection that cannot be opened is tried again.

        Returns if notifications cannot arrive: through a pooler, whose server connections change hands, or in another
        database than that of ``claiming``.
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
                    await asyncio.Event().wait()  # the wait on the connection detects its loss
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
        if await _scalar(conn, _SERVER) != await _scalar(claiming, _SERVER):
            self._tell("the listen address leads to another database")
            return False
        return True

    def _tell(self, reason: str) -> None:
        _log.warning("the worker polls every %s s: %s", self._interval.total_seconds(), reason)

    async def fall_asleep(self) -> bool:
        """Tell senders that a worker sleeps. False if a sender's transaction is open, or another worker waits for all.

        After an exception while it sleeps or polls, the connection must end, and the locks with it.
        """
        if not self._listens.is_set():
            return False
        if not self.is_polling and not await self._take_turn():
            return False
        if await self._lock(Lock.WAKEUP):
            self.is_polling = False
            return True
        if not self.is_polling:
            self.is_polling = True
            self._polls_since = time.monotonic()
            self._is_told_of_sender = False
        return False

    async def stop_polling(self) -> None:
        """Give up the turn to wait for all workers, if this one polls."""
        if self.is_polling:
            self.is_polling = False
            if self._has_turn:
                await _scalar(self._conn, _UNLOCK, Lock.SLEEPER.key)

    async def _take_turn(self) -> bool:
        """Take the lock of the worker that waits for all. True also if its holder is no worker."""
        self._has_turn = await self._lock(Lock.SLEEPER)
        if not self._has_turn and time.monotonic() >= self._looks_from:
            self._looks_from = time.monotonic() + _LOOK_EVERY
            holder = await holder_of(self._conn, Lock.SLEEPER)
            self._is_turn_of_nobody = holder is not None and not holder.has_rights
            if holder and self._is_turn_of_nobody and self._reminders.is_due(f"{holder.pid}"):
                _log.warning("a role without rights keeps the lock of the worker that sleeps, to no effect: %s", holder)
        return self._has_turn or self._is_turn_of_nobody

    async def _lock(self, lock: Lock) -> bool:
        row = await (await self._conn.execute(_LOCK, lock.key)).fetchone()
        is_granted, self.asked_at = row or (False, None)
        return bool(is_granted)

    async def wake_up(self) -> None:
        """Tell senders that this worker no longer sleeps. Call it while asleep."""
        if self._has_turn:
            await _scalar(self._conn, _WAKE, (*Lock.WAKEUP.key, *Lock.SLEEPER.key))
        else:
            await _scalar(self._conn, _UNLOCK, Lock.WAKEUP.key)

    async def wait(self, *, within: timedelta | None = None) -> None:
        """Wait until notified, or for ``within`` (10 ms to 5 s). Call it while asleep."""
        limit = _LONGEST_SLEEP if within is None else min(max(within, _SHORTEST_SLEEP), _LONGEST_SLEEP)
        await _notified(self._conn, limit)

    async def tell_sleeper(self, within: timedelta | None) -> None:
        """Wake the worker that waits for all if a delivery is due before it would wake by itself."""
        if self._listens.is_set() and not self.is_polling and within is not None and within < _LONGEST_SLEEP:
            await self._conn.execute("notify svc_webhooks")

    async def wait_briefly(self, *, within: timedelta | None = None) -> None:
        """Wait briefly, for ``within`` at most, or until notified. Used when sleep was refused.

        At most 2 s if another worker waits for all. While a transaction that sends is open, a tenth of the time that it
        has been: 20 to 50 ms at first, half a second later.
        """
        most = max(_LONGEST_SLEEP if within is None else within, _SHORTEST_SLEEP).total_seconds()
        if not self._listens.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._interval.total_seconds(), most)):
                    await self._listens.wait()
            return
        limit = random.uniform(0.02, 0.05)  # noqa: S311 - only so that several workers do not poll in step
        if self.is_polling:
            polled = time.monotonic() - self._polls_since
            if polled > _TELL_AFTER and not self._is_told_of_sender:
                await self._tell_of_sender(polled)
            limit = max(limit, min(polled / 10, _LONGEST_POLL))
        else:
            limit *= 40
        await _notified(self._conn, timedelta(seconds=min(limit, most)))

    async def _tell_of_sender(self, seconds: float) -> None:
        self._is_told_of_sender = True
        holder = await holder_of(self._conn, Lock.WAKEUP)
        if holder is None or (holder.has_rights and holder.is_exclusive):
            return
        if holder.has_sent or holder.has_rights:
            reason = f"a transaction that has sent webhooks is open for {seconds:.0f} s"
        else:
            reason = "a session that has sent nothing keeps the lock of those who send"
            if holder.is_exclusive:
                reason += ", so that each send notifies"
        _log.warning("%s, so the worker polls every %s s: %s", reason, _LONGEST_POLL, holder)


async def _notified(conn: Connection, limit: timedelta) -> None:
    async for _ in conn.notifies(timeout=limit.total_seconds(), stop_after=1):
        pass


async def _scalar(conn: Connection, text: Any, params: Sequence[int] | None = None) -> Any:
    async with conn.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(text, params)).fetchone()
