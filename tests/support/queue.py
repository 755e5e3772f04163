"""Fill the queue of deliveries quickly, for tests of the cost of reading it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID

import psycopg

Connection = psycopg.Connection[Any]


def add_endpoints(conn: Connection, number: int) -> list[UUID]:
    """Endpoints without events, in the order of their ids."""
    made = conn.execute(
        """with endpoint as (
               insert into svc.webhook_endpoints (id, url, events, secret)
               select svc.webhook_uuid7(), 'http://127.0.0.1:9', '{none}', '' from generate_series(1, %s) returning id
           )
           insert into svc.webhook_endpoint_state (endpoint_id) select id from endpoint returning endpoint_id""",
        (number,),
    )
    return sorted(key for (key,) in made)


def add_due(conn: Connection, endpoints: Sequence[UUID], number: int) -> None:
    """Add a number of messages, and a delivery of each to each of these endpoints."""
    conn.execute(
        """with message as (
               insert into svc.webhook_messages (id, event_name, payload)
               select svc.webhook_uuid7(), 'none', '{}' from generate_series(1, %s) returning id
           ), delivery as (
               insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts)
               select svc.webhook_uuid7(), m.id, e.id, 'none', 5 from message m cross join unnest(%s::uuid[]) e(id)
               returning id, endpoint_id, next_attempt_at
           )
           insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
           select endpoint_id, next_attempt_at, id from delivery""",
        (number, list(endpoints)),
    )


def add_delivered(conn: Connection, number: int) -> None:
    """Add a number of finished deliveries, spread over all endpoints, without their messages."""
    conn.execute(
        """with endpoint as materialized (select array_agg(id) as ids from svc.webhook_endpoints)
           insert into svc.webhook_deliveries
               (id, message_id, endpoint_id, event_name, status, max_attempts, next_attempt_at, finished_at)
           select svc.webhook_uuid7(), gen_random_uuid(), ids[1 + n %% cardinality(ids)], 'none',
                  'delivered', 5, null, now()
             from generate_series(1, %s) n, endpoint""",
        (number,),
    )


def postpone(conn: Connection, by: timedelta, condition: LiteralString = "true", params: Sequence[object] = ()) -> None:
    """Make queued deliveries that meet the condition on ``d`` due after a time from now."""
    conn.execute(
        """with delivery as (
               update svc.webhook_deliveries d set next_attempt_at = now() + %s::interval
                where d.status = 'pending' and """
        + condition
        + """ returning d.id, d.endpoint_id, d.next_attempt_at
           )
           update svc.webhook_queue q
              set next_attempt_at = d.next_attempt_at,
                  lane = case when d.next_attempt_at > now() then 'later' else 'due' end::svc.webhook_lane
             from delivery d where d.endpoint_id = q.endpoint_id and d.id = q.delivery_id""",
        (by, *params),
    )


def end_leases(conn: Connection, deliveries: Sequence[UUID] | None = None) -> None:
    """End the leases of these deliveries, or all."""
    conn.execute(
        "update svc.webhook_leases set lease_until = now() where %(ids)s::uuid[] is null or delivery_id = any(%(ids)s)",
        {"ids": None if deliveries is None else list(deliveries)},
    )


def misplaced(conn: Connection) -> list[tuple[UUID, str, int, int]]:
    """The deliveries that are pending and not in exactly one of queue and leases, or not pending and in one of them.

    Also those with another time or endpoint in the queue, and queue rows without a delivery.
    """
    return conn.execute(
        """select coalesce(d.id, w.delivery_id), d.status, w.queued, w.leased
             from svc.webhook_deliveries d full join (
                select delivery_id, endpoint_id, sum(queued) as queued, sum(leased) as leased, min(at) as at
                  from (select delivery_id, endpoint_id, 1 as queued, 0 as leased, next_attempt_at as at
                          from svc.webhook_queue
                        union all select delivery_id, endpoint_id, 0, 1, null from svc.webhook_leases) e
                 group by delivery_id, endpoint_id
             ) w on w.delivery_id = d.id and w.endpoint_id = d.endpoint_id
            where d.id is null or (d.status = 'pending') <> (w.queued + w.leased is not null)
               or w.queued + w.leased > 1 or w.at <> d.next_attempt_at"""
    ).fetchall()
