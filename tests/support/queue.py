"""Fill the queue of deliveries quickly, for tests of what it costs to read it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

Connection = psycopg.Connection[Any]


def add_endpoints(conn: Connection, number: int) -> list[UUID]:
    """Endpoints that want no event, in the order of their ids."""
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
    """So many messages, and a delivery of each to each of these endpoints."""
    conn.execute(
        """with message as (
               insert into svc.webhook_messages (id, event_name, payload)
               select svc.webhook_uuid7(), 'none', '{}' from generate_series(1, %s) returning id
           )
           insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts)
           select svc.webhook_uuid7(), m.id, e.id, 'none', 5 from message m cross join unnest(%s::uuid[]) e(id)""",
        (number, list(endpoints)),
    )


def add_delivered(conn: Connection, number: int) -> None:
    """So many deliveries that are finished, spread over all endpoints; their messages are gone."""
    conn.execute(
        """with endpoint as materialized (select array_agg(id) as ids from svc.webhook_endpoints)
           insert into svc.webhook_deliveries
               (id, message_id, endpoint_id, event_name, status, max_attempts, next_attempt_at, finished_at)
           select svc.webhook_uuid7(), gen_random_uuid(), ids[1 + n %% cardinality(ids)], 'none',
                  'delivered', 5, null, now()
             from generate_series(1, %s) n, endpoint""",
        (number,),
    )
