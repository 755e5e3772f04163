"""The holder of an advisory lock: a worker, a sender, or a stranger, because any role can take it.

A lock that a stranger holds is ignored, because it carries no information.
"""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.rows import class_row

from svc_pg.database.advisory_locks import Lock
from svc_pg.database.statements import statement

_HOLDERS: Final = statement("queries/webhooks/lock_holders.sql")


@dataclass(frozen=True, slots=True)
class Holder:
    """The session that holds a lock. ``has_sent`` is true if its transaction has changed the queue."""

    pid: int | None
    usename: str | None
    application_name: str | None
    state: str | None
    is_exclusive: bool
    has_rights: bool
    has_sent: bool

    def __str__(self) -> str:
        if self.pid is None:
            return "a prepared transaction, see pg_prepared_xacts"
        state = self.state or "state unknown"
        return f"process {self.pid} of PostgreSQL, role {self.usename}, application {self.application_name!r}, {state}"


async def holder_of(conn: AsyncConnection[Any], lock: Lock) -> Holder | None:
    """A holder of the lock in this database, strangers first."""
    async with conn.cursor(row_factory=class_row(Holder)) as cursor:
        return await (await cursor.execute(_HOLDERS, lock.key)).fetchone()
