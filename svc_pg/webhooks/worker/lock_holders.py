"""The holder of an advisory lock: a worker, a sender, or a stranger, because any role can take it.

A lock that a stranger holds is ignored, because it carries no information.
"""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.rows import class_row

from svc_pg.database.advisory_locks import Lock

# A sender has changed the queue too, also by a trigger, without a right of its own; other holders have those of workers
_HOLDERS: Final = """
select l.pid, a.usename::text, a.application_name, a.state, l.mode = 'ExclusiveLock' as is_exclusive,
       r.has_rights, r.has_sent
  from pg_catalog.pg_locks l
  left join pg_catalog.pg_stat_activity a on a.pid = l.pid
 cross join lateral (
    select coalesce(pg_catalog.has_table_privilege(a.usesysid, 'svc.webhook_leases', 'DELETE'), false) as has_rights,
           exists (
               select from pg_catalog.pg_locks q
                where q.virtualtransaction = l.virtualtransaction and q.relation = 'svc.webhook_queue'::regclass
                  and q.database = l.database and q.mode = 'RowExclusiveLock'
           ) as has_sent
  ) r
 where l.locktype = 'advisory' and l.classid = %s and l.objid = %s and l.objsubid = 2 and l.granted
   and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
 order by r.has_rights or r.has_sent, a.xact_start limit 1
"""


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
