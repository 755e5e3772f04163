"""The backlog of a database's workers, read cheaply: no more of the queue is counted than 10,000 of each lane."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, Connection

from svc_pg.database.query import Query, afetch_one, fetch_one

MOST_COUNTED: Final = 10_000  # in the statement too
_LATE_UNSEEN: Final = timedelta(minutes=1)  # a worker that is deployed anew is back by then
_LATE: Final = timedelta(minutes=15)  # a burst is sent by then; Prometheus may have its own, shorter limit

# Statistics of a queue are always wrong: the planner gets no choice but the indexes.
PREPARE: Final = """
select set_config('statement_timeout', '3s', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)
"""
# A snapshot keeps what has finished since in the indexes, also one of a replication slot or a prepared transaction.
_READ: Final[LiteralString] = """
select (
    with r as materialized ( -- once, not for each endpoint
        select f.endpoint_id, f.next_attempt_at
          from svc.webhook_endpoints_due('00000000-0000-0000-0000-000000000000', 1000) f
        union all
        (select q.endpoint_id, q.next_attempt_at from svc.webhook_queue q
          where q.lane = 'later' and q.next_attempt_at <= now() order by q.next_attempt_at limit 1000)
        union all -- of endpoints that are open again: the next claim returns them
        select p.endpoint_id, q.next_attempt_at
          from (select k.endpoint_id
                  from svc.webhook_parked_endpoints k
                  join svc.webhook_endpoints e on e.id = k.endpoint_id and e.status = 'active'
                 order by k.parked_until limit 1000) p
         cross join lateral (select w.next_attempt_at from svc.webhook_queue w
                              where w.lane = 'parked' and w.endpoint_id = p.endpoint_id
                              order by w.next_attempt_at limit 1) q
        union all -- under way at a worker that is gone: the next claim returns them
        (select l.endpoint_id, l.lease_until from svc.webhook_leases l
          where l.lease_until <= now() order by l.lease_until limit 1000)
    )
    select greatest(extract(epoch from now() - min(greatest(r.next_attempt_at, s.open_since))), 0)::float8
      from r
      join svc.webhook_endpoints e on e.id = r.endpoint_id and e.status = 'active'
      left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
     where s.breaker_until is null and s.throttled_until is null and r.next_attempt_at <= now()
       and e.max_in_flight > (select count(*) from svc.webhook_leases l
                               where l.endpoint_id = e.id and l.lease_until > now())
       and not exists (select from svc.webhook_rates w -- a second longer, until the next claim
                        where w.endpoint_id = e.id and w.full_until > now() - interval '1 s')
) as oldest_due_seconds, (
    pg_is_in_recovery() -- whose primary has the workers
    or exists (select from svc.webhook_leases l where l.lease_until > now())
    or exists (select from pg_stat_activity a
                where a.datname = current_database() and starts_with(a.application_name, 'svc-pg worker')
                  and a.pid <> pg_backend_pid())
) as is_worker_seen, e.*, (
    select coalesce(max(age(x.xmin)), 0) from (
        select a.backend_xmin from pg_stat_activity a
         where a.backend_xmin is not null and a.pid <> pg_backend_pid()
           and (a.datname is null or a.datname = current_database()) and a.backend_type <> 'autovacuum worker'
        union all select s.xmin from pg_replication_slots s where s.xmin is not null
        union all select p.transaction from pg_prepared_xacts p where p.database = current_database()
    ) x(xmin)
) as oldest_snapshot_transactions,
       txid_snapshot_xmax(txid_current_snapshot()) - txid_snapshot_xmin(txid_current_snapshot())
           as unsettled_transactions
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
_WAITING: Final = """
select (select count(*) from (select from svc.webhook_queue q where q.lane = 'due' limit 10000) c) as due,
       (select count(*) from (select from svc.webhook_queue q where q.lane = 'later' limit 10000) c) as later,
       (select count(*) from (select from svc.webhook_queue q where q.lane = 'behind' limit 10000) c) as behind,
       (select count(*) from (select from svc.webhook_queue q where q.lane = 'parked' limit 10000) c) as parked,
       (select count(*) from (select from svc.webhook_leases l where l.lease_until > now() limit 10000) c) as in_flight
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The endpoints by state, the age of what is due, and the transactions that hold readers up.

    ``oldest_due_seconds`` is the age of the oldest due delivery that could start now, because its endpoint has room
    and has not reached its rate. The time before an endpoint was resumed, its breaker closed or the wait ended that its
    receiver asked for does not count. Only the first 1,000 endpoints with pending deliveries count.

    ``failing`` are active endpoints whose last attempt failed, ``open_breakers`` those of them that their circuit
    breaker pauses, and ``ending_certificates`` active ones whose client certificate ends within 30 days.

    ``oldest_snapshot_transactions`` is the number of transactions begun since the oldest snapshot that is held, and
    ``unsettled_transactions`` since the oldest one that still runs, in any database: readers of the log stop there.

    A worker is seen by its connections, and while it delivers; on a standby one always counts as seen. The backlog
    ``needs_attention`` if a delivery is due for more than a minute and no worker is seen, or for more than 15 minutes.
    """

    oldest_due_seconds: float
    active: int
    paused: int
    disabled: int
    failing: int
    open_breakers: int
    ending_certificates: int
    oldest_snapshot_transactions: int
    unsettled_transactions: int
    is_worker_seen: bool
    needs_attention: bool


@dataclass(frozen=True, slots=True)
class PendingCounts:
    """The pending deliveries, each number counted up to 10,000.

    ``due`` can start as soon as their endpoint has room, the time of ``later`` has not come, ``behind`` wait for
    another of their key, ``parked`` for their endpoint, which is paused or failing. ``in_flight`` are under way.
    """

    due: int
    later: int
    behind: int
    parked: int
    in_flight: int


def backlog() -> Query[Backlog]:
    """The backlog. Run ``PREPARE`` before it, in the same transaction."""
    return Query(_READ, (), _backlog)


def _backlog(*, oldest_due_seconds: float, is_worker_seen: bool, **counts: Any) -> Backlog:
    longest = _LATE if is_worker_seen else _LATE_UNSEEN
    return Backlog(
        oldest_due_seconds=oldest_due_seconds,
        is_worker_seen=is_worker_seen,
        needs_attention=oldest_due_seconds > longest.total_seconds(),
        **counts,
    )


def read_backlog(conn: Connection[Any]) -> Backlog:
    """Read the backlog in the transaction of a connection, whose planner keeps to indexes until it ends."""
    conn.execute(PREPARE)
    return fetch_one(conn, backlog())


async def aread(conn: AsyncConnection[Any]) -> Backlog:
    """As ``read``, for asyncio."""
    await conn.execute(PREPARE)
    return await afetch_one(conn, backlog())


def waiting() -> Query[PendingCounts]:
    """The numbers of deliveries that wait, and for what."""
    return Query(_WAITING, (), PendingCounts)
