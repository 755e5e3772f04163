"""Make the deliveries of a week by SQL: messages, each with one delivery, and the attempts of each."""

from dataclasses import asdict, dataclass
from typing import Any, Final, LiteralString

import psycopg

Connection = psycopg.Connection[Any]

_EVENTS: Final[LiteralString] = """
insert into svc.webhook_event_types (name, description, patterns)
select 'order.' || word, 'An order was ' || word, array['order.' || word, 'order.*', '*']
  from unnest('{placed,paid,shipped}'::text[]) word
    on conflict do nothing
"""
# the n-th is of tenant-n, or each second one only
_ENDPOINTS: Final[LiteralString] = """
with endpoint as (
    insert into svc.webhook_endpoints (id, url, description, events, secret, tenant)
    select svc.webhook_uuid7(), 'https://partner-' || n || '.example/hook', 'Partner ' || n, '{order.*}', '',
           case when n %% 2 = 0 or %(have_all_tenants)s then 'tenant-' || n end
      from generate_series(1, %(endpoints)s) n returning id
)
insert into svc.webhook_endpoint_state (endpoint_id) select id from endpoint
"""
_STATES: Final = 100
# of 100: 96 delivered, 2 failed after five attempts, 1 canceled, 1 waiting
_DELIVERIES: Final[LiteralString] = """
with endpoint as materialized (
    select array_agg(id order by substr(description, 9)::integer) as ids from svc.webhook_endpoints
     where description like 'Partner %%'
),
sent as (
    select n, 1 + case when n %% 10 < %(busy_tenths)s then 0 else n %% %(endpoints)s end as number,
           now() - (%(deliveries)s - n) * interval '7 days' / %(deliveries)s as at
      from generate_series(%(first)s::integer, %(last)s::integer) n
),
message as (
    insert into svc.webhook_messages (id, event_name, payload, tenant, created_at)
    select overlay(svc.uuid7_at(at)::text placing substr(md5(n::text), 1, 12) from 25)::uuid,
           (array['order.placed', 'order.paid', 'order.shipped'])[1 + n %% 3],
           json_build_object('id', n, 'endpoint', number, 'note', repeat('x', 200)),
           case when number %% 2 = 0 or %(have_all_tenants)s then 'tenant-' || number end, at
      from sent
    returning id, event_name, created_at, (payload->>'id')::integer as n, (payload->>'endpoint')::integer as number
),
delivery as (
    insert into svc.webhook_deliveries
        (id, message_id, endpoint_id, event_name, status, attempts, max_attempts, next_attempt_at, finished_at, failure,
         last_status_code, last_error, created_at, updated_at)
    select overlay(m.id::text placing '9' from 25)::uuid, m.id, ids[number], event_name, status,
           case status when 'failed' then 5 when 'canceled' then 0 else 1 end, 5,
           case when status = 'pending' then now() + interval '1 day' end,
           case when status <> 'pending' then m.created_at + interval '1 s' end,
           nullif(nullif(status, 'pending'), 'delivered'),
           case status when 'delivered' then 204 when 'canceled' then null else 503 end,
           case when status in ('failed', 'pending') then 'HTTP 503' end, m.created_at, m.created_at + interval '1 s'
      from message m, endpoint, lateral (select (n + %(shift)s * (n / %(endpoints)s)) %% 100 as part) p,
           lateral (select case when part < 96 then 'delivered' when part < 98 then 'failed'
                                when part < 99 then 'canceled' else 'pending' end as status) s
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


@dataclass(frozen=True, slots=True)
class Week:
    """``busy_tenths`` of ten deliveries are those of the first endpoint; the others are spread evenly."""

    deliveries: int
    endpoints: int = 20
    have_all_tenants: bool = False
    busy_tenths: int = 0

    def begin(self, conn: Connection) -> None:
        """Make the events and the endpoints."""
        conn.execute(_EVENTS)
        conn.execute(_ENDPOINTS, asdict(self))

    def add(self, conn: Connection, first: int, last: int) -> None:
        """Make a part of the messages, of 1 to ``deliveries``."""
        shift = int(self.endpoints > _STATES)  # or each of many would have deliveries of one state alone
        conn.execute(_DELIVERIES, {**asdict(self), "first": first, "last": last, "shift": shift})

    def grow(self, conn: Connection, *, parts: int) -> None:
        """Make all, while the planner keeps the statistics of when there was the oldest of so many parts alone."""
        beginning = self.deliveries // parts
        self.begin(conn)
        self.add(conn, 1, beginning)
        conn.execute("analyze")
        self.add(conn, beginning + 1, self.deliveries)


def fill(conninfo: str, *, deliveries: int) -> None:
    """Make messages of a week, each with one delivery."""
    fill_growing(conninfo, deliveries=deliveries)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("vacuum analyze")


def fill_growing(conninfo: str, *, deliveries: int) -> None:
    """As ``fill``, but the planner has the statistics of the oldest of 50 parts, of when there were no others."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        Week(deliveries).grow(conn, parts=50)
        conn.execute("vacuum")
