"""The protocol between a worker and the functions of its database, by number.

The number rises with every change that both sides must make. Both speak the newest and the previous one, so that for
one release an old worker works with new functions, and a new worker with old functions.
"""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.database.query import Query, afetch_one
from svc_pg.errors import ProtocolError

OLDEST: Final = 1
NEWEST: Final = 3
THROTTLED: Final = 2
"""The first with ``throttled`` results, and with a ``since`` for the next due delivery."""
FOLLOWS_CLOCK: Final = 3
"""The first with ``webhook_follow_clock``."""


@dataclass(frozen=True, slots=True)
class _Spoken:
    oldest: int
    newest: int


async def newest(conn: AsyncConnection[Any]) -> int:
    """The newest protocol of the database. Raises NotInstalledError."""
    return (await _spoken(conn)).newest


async def check(conn: AsyncConnection[Any]) -> int:
    """The newest protocol that the database speaks.

    Raises ProtocolError if this worker and the database have none in common, NotInstalledError without svc.
    """
    spoken = await _spoken(conn)
    if spoken.oldest > NEWEST:
        raise ProtocolError(
            f"the database speaks the worker protocol from {spoken.oldest} on, and this worker up to {NEWEST}",
            hint="The worker is too old: deploy the svc-pg that installed the database.",
        )
    if spoken.newest < OLDEST:
        raise ProtocolError(
            f"the database speaks the worker protocol up to {spoken.newest}, and this worker from {OLDEST} on",
            hint="The database is too old. Run: svc-pg install",
        )
    return spoken.newest


async def _spoken(conn: AsyncConnection[Any]) -> _Spoken:
    return await afetch_one(conn, Query("select oldest, newest from svc.webhook_protocol()", (), _Spoken))
