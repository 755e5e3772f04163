"""Wake a worker when there is work: no constant polling, and no NOTIFY in every transaction that sends.

A worker with nothing to do takes an advisory lock exclusively and listens. A sender tries the same lock in shared mode:
if that is refused, a worker is asleep, and only then does the sender notify (see sql/webhooks/webhook_notify.sql.j2).
"""

import logging
import random
from datetime import timedelta
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from svc_pg.advisory_locks import Lock

_log = logging.getLogger(__name__)

_LONGEST_SLEEP: Final = timedelta(seconds=5)
_WAKE: Final = "select pg_advisory_unlock(%s, %s), pg_advisory_unlock(%s, %s)"
# The server then notices within a minute that a sleeper's machine is gone, and releases its locks
_NOTICE_LOSS: Final = """
select set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false)
"""


class Wakeup:
    """The waits of one worker without work. ``interval`` is how often to poll if nothing can wake the worker."""

    def __init__(self, conn: AsyncConnection[Any], *, interval: timedelta) -> None:
        self._conn = conn
        self._interval = interval
        self._can_listen = False

    async def listen(self) -> None:
        """Listen, unless there is a pooler in between: its server connections change hands, so the worker polls."""
        # a pooler makes up the process id that it tells its clients
        self._can_listen = await self._scalar("select pg_backend_pid()") == self._conn.info.backend_pid
        if self._can_listen:
            await self._conn.execute(_NOTICE_LOSS)
            await self._conn.execute("listen svc_webhooks")
        else:
            _log.warning(
                "a pooler is in front of PostgreSQL, so the worker polls every %s s; give a direct listen address",
                self._interval.total_seconds(),
            )

    async def fall_asleep(self) -> bool:
        """Tell senders that a worker sleeps. False if a sender is about to commit or another worker sleeps already.

        After an exception while it sleeps, the connection must end, and the lock with it.
        """
        granted = self._can_listen and bool(await self._scalar("select pg_try_advisory_lock(%s, %s)", Lock.WAKEUP.key))
        if granted:
            await self._scalar("select pg_advisory_lock(%s, %s)", Lock.SLEEPER.key)
        return granted

    async def wake_up(self) -> None:
        """Tell senders that it sleeps no longer."""
        await self._conn.execute(_WAKE, (*Lock.SLEEPER.key, *Lock.WAKEUP.key))

    async def wait(self, *, within: timedelta | None = None) -> None:
        """Wait until notified, or for ``within`` (5 s at most). Call it while asleep."""
        await self._wait(_LONGEST_SLEEP if within is None else min(within, _LONGEST_SLEEP))

    async def wait_briefly(self) -> None:
        """Wait briefly, or until notified. Used when sleep was refused.

        At most 50 ms if a sender is about to commit; at most 2 s if another worker sleeps, which will be notified.
        """
        wait = self._interval
        if self._can_listen:
            # a lock of the statement alone, released at its end
            is_alone = await self._scalar("select pg_try_advisory_xact_lock_shared(%s, %s)", Lock.SLEEPER.key)
            jitter = random.uniform(0.02, 0.05)  # noqa: S311 - only so that several workers do not poll in step
            wait = timedelta(seconds=jitter if is_alone else 40 * jitter)
        await self._wait(wait)

    async def _wait(self, limit: timedelta) -> None:
        async for _ in self._conn.notifies(timeout=limit.total_seconds(), stop_after=1):
            pass

    async def _scalar(self, text: Any, params: tuple[int, int] | None = None) -> Any:
        async with self._conn.cursor(row_factory=scalar_row) as cursor:
            return await (await cursor.execute(text, params)).fetchone()
