"""The reachability of the database behind a pool, which a pool without a free connection does not tell."""

import asyncio
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

PING_SECONDS: Final = 2


class Reachability:
    """Connects once for all who want to know at the same time."""

    def __init__(self) -> None:
        self._reached: asyncio.Task[bool] | None = None

    async def is_reached(self, pool: AsyncConnectionPool[Any]) -> bool:
        """True if a connection beside those of the pool can be made within 2 seconds."""
        if self._reached is None or self._reached.done():
            self._reached = asyncio.create_task(_is_reached(pool))
        return await asyncio.shield(self._reached)


async def _is_reached(pool: AsyncConnectionPool[Any]) -> bool:
    conninfo, kwargs = pool.conninfo, pool.kwargs or {}
    if not isinstance(conninfo, str) or not isinstance(kwargs, dict):  # functions may not be meant for this
        return True
    try:
        async with asyncio.timeout(PING_SECONDS):
            conn = await AsyncConnection.connect(conninfo, **kwargs)
    except (psycopg.OperationalError, TimeoutError):
        return False
    await conn.close()
    return True
