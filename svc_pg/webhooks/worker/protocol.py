"""The protocol between a worker and the functions of its database, by number.

The number rises with every change that one side cannot make alone. Both sides speak the newest and the one before, so
that for one release an old worker works beside new functions, and a new one beside old functions.
"""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.errors import ProtocolError
from svc_pg.query import Query, afetch_one

OLDEST: Final = 1
NEWEST: Final = 1


@dataclass(frozen=True, slots=True)
class _Spoken:
    oldest: int
    newest: int


async def check(conn: AsyncConnection[Any]) -> None:
    """Raise ProtocolError if this worker and the database speak no common protocol, NotInstalledError without svc."""
    spoken = await afetch_one(conn, Query("select oldest, newest from svc.webhook_protocol()", (), _Spoken))
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
