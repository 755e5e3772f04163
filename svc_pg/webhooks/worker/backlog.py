"""The backlog of a database's workers, read cheaply: nothing here counts deliveries."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg

from svc_pg.conninfo import Conninfo
from svc_pg.query import Query, afetch
from svc_pg.webhooks.worker.connections import connected

_log = logging.getLogger(__name__)

_LONGEST_READ: Final = 4.0  # seconds; a scrape may take 10
_FRESH: Final = 5.0  # seconds

# Statistics of a queue are always wrong: the planner gets no choice but the indexes.
_BEGIN: Final = """
select set_config('statement_timeout', '3s', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)
"""
# A snapshot keeps what has finished since in the indexes, also one of a replication slot or a prepared transaction.
_READ: Final[LiteralString] = """
select (
    select coalesce(extract(epoch from now() - min(r.next_attempt_at)), 0)::float8
      from (
        select f.endpoint_id, f.next_attempt_at
          from svc.webhook_endpoints_due('00000000-0000-0000-0000-000000000000', 1000) f
        union all
        (select q.endpoint_id, q.next_attempt_at from svc.webhook_queue q
          where q.lane = 'later' and q.next_attempt_at <= now() order by q.next_attempt_at limit 1000)
      ) r
      join svc.webhook_endpoints e on e.id = r.endpoint_id and e.status = 'active'
      left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
     where s.breaker_until is null and r.next_attempt_at <= now()
       and e.max_in_flight > (select count(*) from svc.webhook_leases l
                               where l.endpoint_id = e.id and l.lease_until > now())
       and not exists (select from svc.webhook_rates w -- a second longer, until the next claim
                        where w.endpoint_id = e.id and w.full_until > now() - interval '1 s')
) as oldest_due_seconds, e.*, (
    select coalesce(max(age(x.xmin)), 0) from (
        select a.backend_xmin from pg_stat_activity a
         where a.backend_xmin is not null and a.pid <> pg_backend_pid()
           and (a.datname is null or a.datname = current_database()) and a.backend_type <> 'autovacuum worker'
        union all select s.xmin from pg_replication_slots s where s.xmin is not null
        union all select p.transaction from pg_prepared_xacts p where p.database = current_database()
    ) x(xmin)
) as oldest_snapshot_transactions
  from (
    select count(*) filter (where e.status = 'active') as active, count(*) filter (where e.status = 'paused') as paused,
           count(*) filter (where e.status = 'disabled') as disabled,
           count(*) filter (where e.status = 'active' and s.failure_streak > 0) as failing,
           count(*) filter (where e.status = 'active' and s.breaker_until is not null) as open_breakers,
           count(*) filter (where e.status = 'active'
                              and e.client_certificate_expires_at < now() + interval '30 days') as ending_certificates
      from svc.webhook_endpoints e left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
) e
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """``oldest_due_seconds`` is the age of the oldest due delivery that could start now: its endpoint has room.

    An endpoint that has reached its rate has none. Only the first 1,000 endpoints with pending deliveries count.
    ``failing`` are active endpoints whose last attempt failed, ``open_breakers`` those of them that their circuit
    breaker pauses, and ``ending_certificates`` those whose client certificate ends within 30 days.
    ``oldest_snapshot_transactions`` is the number of transactions begun since the oldest snapshot that is held.
    """

    oldest_due_seconds: float
    active: int
    paused: int
    disabled: int
    failing: int
    open_breakers: int
    ending_certificates: int
    oldest_snapshot_transactions: int


class BacklogReader:
    """Reads the backlog on demand, on a connection of its own. Within 5 s the answer is the same."""

    def __init__(self, conninfo: Conninfo) -> None:
        self._conninfo = conninfo
        self._reading = asyncio.Lock()
        self._last: Backlog | None = None
        self._read_at = float("-inf")

    async def read(self) -> Backlog | None:
        """The backlog, or None if the database does not answer in time."""
        clock = asyncio.get_running_loop().time
        async with self._reading:
            if clock() - self._read_at > _FRESH:
                self._last = await self._ask()
                self._read_at = clock()
            return self._last

    async def _ask(self) -> Backlog | None:
        try:
            async with connected(self._conninfo, longest=_LONGEST_READ) as conn, conn.transaction():
                await conn.execute(_BEGIN)
                [backlog] = await afetch(conn, Query(_READ, (), Backlog))
                return backlog
        except psycopg.Error as error:
            _log.debug("cannot read the backlog: %s", error)
            return None
