"""Check a connection that a pool gives out: by a round trip only if it has rested, or if the server has said something.

A page makes some twenty transactions one after another, and the end of a connection can be seen without asking for it.
"""

import select
import time
from typing import Any, Final
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

_LONGEST_REST: Final = 1.0
"""The seconds after which a connection is asked if it still works: a network may have dropped it without a word."""

_used: Final[WeakKeyDictionary[AsyncConnection[Any], float]] = WeakKeyDictionary()


def note_use(conn: AsyncConnection[Any]) -> None:
    """Note that a connection works, as it has just answered."""
    _used[conn] = time.monotonic()


async def check(conn: AsyncConnection[Any]) -> None:
    """Raise OperationalError if a connection does not work; the ``check`` of a pool."""
    used = _used.get(conn)
    if used is None or time.monotonic() - used > _LONGEST_REST or _is_told_something(conn):
        await AsyncConnectionPool.check_connection(conn)


def _is_told_something(conn: AsyncConnection[Any]) -> bool:
    """True if there is something to read, for example that the server has ended the connection."""
    poll = select.poll()
    poll.register(conn.fileno(), select.POLLIN)
    return bool(poll.poll(0))
