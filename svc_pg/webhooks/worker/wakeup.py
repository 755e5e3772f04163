"""Wait for work without asking all the time, and without a NOTIFY in every transaction that sends.

A worker with nothing to do takes an advisory lock exclusively and listens. A sender tries the same lock in shared mode:
only where that is refused does somebody sleep, and only then does it notify (see sql/webhooks/webhook_ring.sql).
"""

import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

_log = logging.getLogger(__name__)

_LOCK: Final = (1937138032, 1)  # 'svc0', the bell
_SLEEPER: Final = (1937138032, 5)  # held by the one who sleeps, to tell a sleeper from a sender
_LONGEST_SLEEP: Final = timedelta(seconds=5)
_WAKE: Final = "select pg_advisory_unlock(%s, %s), pg_advisory_unlock(%s, %s)"
# So that the server notices within a minute that the machine of a sleeper is gone, and gives its locks back
_NOTICE_LOSS: Final = """
select set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false)
"""


class Bell:
    """What wakes one worker. ``interval`` is how often to ask where nothing can wake it."""

    def __init__(self, conn: AsyncConnection[Any], *, interval: timedelta) -> None:
        self._conn = conn
        self._interval = interval
        self._can_listen = False

    async def listen(self) -> None:
        """Listen, unless a pooler stands between: its server connections change hands, so a worker there must ask."""
        # a pooler makes up the process id that it tells its clients
        self._can_listen = await self._scalar("select pg_backend_pid()") == self._conn.info.backend_pid
        if self._can_listen:
            await self._conn.execute(_NOTICE_LOSS)
            await self._conn.execute("listen svc_webhooks")
        else:
            _log.warning(
                "a pooler is in front of PostgreSQL, so the worker asks every %s s; name a direct address to listen on",
                self._interval.total_seconds(),
            )

    @asynccontextmanager
    async def asleep(self) -> AsyncIterator[bool]:
        """Tell senders that somebody sleeps. False where one is about to commit or another worker sleeps already.

        An exception inside the block must end the connection, and the lock with it.
        """
        granted = self._can_listen and bool(await self._scalar("select pg_try_advisory_lock(%s, %s)", _LOCK))
        if granted:
            await self._scalar("select pg_advisory_lock(%s, %s)", _SLEEPER)
        yield granted
        if granted:
            await self._conn.execute(_WAKE, (*_SLEEPER, *_LOCK))

    async def ring(self, *, within: timedelta | None = None) -> None:
        """Return when the bell rings, or after ``within`` (5 s at most). Call it while asleep."""
        await self._wait(_LONGEST_SLEEP if within is None else min(within, _LONGEST_SLEEP))

    async def moment(self) -> None:
        """Return soon, or when the bell rings: what to do where sleep was refused.

        Within 50 ms where somebody is about to commit; within 2 s where another worker sleeps, which will be rung for.
        """
        wait = self._interval
        if self._can_listen:
            # a lock of the statement alone, given back at its end
            is_alone = await self._scalar("select pg_try_advisory_xact_lock_shared(%s, %s)", _SLEEPER)
            jitter = random.uniform(0.02, 0.05)  # noqa: S311 - only so that several workers do not ask in step
            wait = timedelta(seconds=jitter if is_alone else 40 * jitter)
        await self._wait(wait)

    async def _wait(self, limit: timedelta) -> None:
        async for _ in self._conn.notifies(timeout=limit.total_seconds(), stop_after=1):
            pass

    async def _scalar(self, text: Any, params: tuple[int, int] | None = None) -> Any:
        async with self._conn.cursor(row_factory=scalar_row) as cursor:
            return await (await cursor.execute(text, params)).fetchone()
