"""Make the deliveries of a week by SQL: messages, each with one delivery, and the attempts of each."""

from collections.abc import Sequence
from typing import Final, LiteralString

import psycopg

ENDPOINTS: Final = 20

_ENDPOINTS: Final = """
with endpoint as (
    insert into svc.webhook_endpoints (id, url, description, events, secret, tenant)
    select svc.webhook_uuid7(), 'https://partner-' || n || '.example/hook', 'Partner ' || n, '{order.*}', '',
           case when n %% 2 = 0 then 'tenant-' || n end
      from generate_series(1, %(endpoints)s) n returning id
)
insert into svc.webhook_endpoint_state (endpoint_id) select id from endpoint
"""
_MESSAGES: Final = """
insert into svc.webhook_messages (id, event_name, payload, tenant, created_at)
select overlay(svc.uuid7_at(at)::text placing substr(md5(n::text), 1, 12) from 25)::uuid,
       (array['order.placed', 'order.paid', 'order.shipped'])[1 + n %% 3],
       json_build_object('id', n, 'note', repeat('x', 200)), case when n %% 2 = 0 then 'tenant-' || n %% 20 end, at
  from (select n, now() - (%(deliveries)s - n) * interval '7 days' / %(deliveries)s as at
          from generate_series(%(first)s::int, %(last)s::int) n) m
"""
# of 100: 96 delivered, 2 failed after five attempts, 1 canceled, 1 waiting
_DELIVERIES: Final = """
with endpoint as materialized (select array_agg(id order by id) as ids from svc.webhook_endpoints),
message as (
    select *, row_number() over (order by id) as n from svc.webhook_messages m
     where not exists (select from svc.webhook_deliveries d where d.message_id = m.id)
),
delivery as (
    insert into svc.webhook_deliveries
        (id, message_id, endpoint_id, event_name, status, attempts, max_attempts, next_attempt_at, finished_at, failure,
         last_status_code, last_error, created_at, updated_at)
    select overlay(m.id::text placing '9' from 25)::uuid, m.id, ids[1 + n %% cardinality(ids)], event_name, status,
           case status when 'failed' then 5 when 'canceled' then 0 else 1 end, 5,
           case when status = 'pending' then now() + interval '1 day' end,
           case when status <> 'pending' then m.created_at + interval '1 s' end,
           nullif(nullif(status, 'pending'), 'delivered'),
           case status when 'delivered' then 204 when 'canceled' then null else 503 end,
           case when status in ('failed', 'pending') then 'HTTP 503' end, m.created_at, m.created_at + interval '1 s'
      from message m, endpoint,
           lateral (select case when n %% 100 < 96 then 'delivered' when n %% 100 < 98 then 'failed'
                                when n %% 100 < 99 then 'canceled' else 'pending' end as status) s
    returning id, endpoint_id, status, attempts, next_attempt_at, created_at
),
queued as (
    insert into svc.webhook_queue (lane, endpoint_id, next_attempt_at, delivery_id)
    select 'later', endpoint_id, next_attempt_at, id from delivery where status = 'pending'
)
insert into svc.webhook_delivery_attempts
    (delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome, status_code, response_body, worker)
select id, endpoint_id, a, created_at + (a - 1) * interval '100 ms', 20 + a,
       case when status = 'delivered' then 'success' else 'http_error' end,
       case when status = 'delivered' then 204 else 503 end, repeat('y', 100), 'worker-1'
  from delivery, generate_series(1, attempts) a
"""
_EVENTS: Final = """
insert into svc.webhook_event_types (name, description, patterns)
select 'order.' || word, 'An order was ' || word, array['order.' || word, 'order.*', '*']
  from unnest('{placed,paid,shipped}'::text[]) word
"""


def fill(conninfo: str, *, deliveries: int) -> None:
    """Make messages of a week, each with one delivery."""
    fill_growing(conninfo, deliveries=deliveries)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("vacuum analyze")


def fill_growing(conninfo: str, *, deliveries: int) -> None:
    """As ``fill``, but the planner has the statistics of the oldest of 50 parts, of when there were no others."""
    wanted = {"deliveries": deliveries, "endpoints": ENDPOINTS}
    statements: Sequence[LiteralString] = (_MESSAGES, _DELIVERIES)
    beginning = deliveries // 50
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(_EVENTS)
        conn.execute(_ENDPOINTS, wanted)
        for first, last in ((1, beginning), (beginning + 1, deliveries)):
            for statement in statements:
                conn.execute(statement, {**wanted, "first": first, "last": last})
            if last == beginning:
                conn.execute("analyze")
        conn.execute("vacuum")
