"""Statistics of an endpoint: its health, its backlog, and the results of its latest deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from svc_pg.database.query import Query, RawJson
from svc_pg.errors import QueryError
from svc_pg.formats import durations
from svc_pg.webhooks.deliveries.delivery_rows import Status
from svc_pg.webhooks.http.transport import RecordedOutcome
from svc_pg.webhooks.ids import endpoint_key, no_endpoint

WINDOW: Final = timedelta(hours=24)
LONGEST: Final = timedelta(days=7)
MOST_DELIVERIES: Final = 10_000

# Ids grow with time, so the index of the list bounds both the window and the number of rows
_STATS: Final = """
with recent as materialized (
    select d.id, d.status from svc.webhook_deliveries d
     where d.endpoint_id = %(endpoint)s and d.id >= svc.uuid7_at(now() - %(window)s)
     order by d.id desc limit %(most)s
),
attempt as materialized (
    select a.outcome, a.duration_ms from recent r join svc.webhook_delivery_attempts a on a.delivery_id = r.id
)
select e.id::text as endpoint_id, %(window)s as "window",
       (select coalesce(pg_catalog.json_object_agg(status, n), '{}')
          from (select status, count(*) as n from recent group by status order by status) s) as deliveries,
       (select coalesce(pg_catalog.json_object_agg(outcome, n), '{}')
          from (select outcome, count(*) as n from attempt group by outcome order by outcome) o) as attempts,
       (select pg_catalog.percentile_cont(0.5) within group (order by duration_ms) / 1000::float8 from attempt) as p50,
       (select pg_catalog.percentile_cont(0.95) within group (order by duration_ms) / 1000::float8 from attempt) as p95,
       coalesce((select d.created_at
          from pg_catalog.unnest(pg_catalog.enum_range(null::svc.webhook_lane)) r(lane)
         cross join lateral (
            select q.delivery_id, q.next_attempt_at from svc.webhook_queue q
             where q.lane = r.lane and q.endpoint_id = e.id order by q.next_attempt_at, q.delivery_id limit 1
         ) q
          join svc.webhook_deliveries d on d.id = q.delivery_id
         order by q.next_attempt_at limit 1), (
        select min(d.created_at) from svc.webhook_leases l join svc.webhook_deliveries d on d.id = l.delivery_id
         where l.endpoint_id = e.id
       )) as next_pending_since,
       s.failure_streak, s.failing_since, case when s.breaker_until > now() then s.breaker_until end as breaker_until,
       case when s.throttled_until > now() then s.throttled_until end as throttled_until,
       s.last_success_at, s.last_failure_at, s.last_failure
  from svc.webhook_endpoints e left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
 where e.id = %(endpoint)s
"""


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """The latest deliveries, 10,000 at most, that were created in ``window``, and the health as it is now.

    ``deliveries`` counts them by status, ``attempts`` counts their attempts by outcome; ``p50`` and ``p95`` are seconds
    an attempt. ``next_pending_since`` is the time at which the next delivery in turn was created.
    """

    endpoint_id: str
    window: timedelta
    deliveries: Mapping[Status, int]
    attempts: Mapping[RecordedOutcome, int]
    p50: float | None
    p95: float | None
    next_pending_since: datetime | None
    failure_streak: int
    failing_since: datetime | None
    breaker_until: datetime | None
    throttled_until: datetime | None
    last_success_at: datetime | None
    last_failure_at: datetime | None
    last_failure: str | None


def stats(endpoint_id: str, *, window: timedelta = WINDOW) -> Query[EndpointStats]:
    """The statistics of one endpoint over the last ``window``, up to 7 days. Running it raises NotFoundError."""
    if not timedelta(0) < window <= LONGEST:
        raise QueryError(f"{durations.text(window)} is not a window", hint=f"Ask for up to {durations.text(LONGEST)}.")
    key = endpoint_key(endpoint_id)
    parameters = {"endpoint": key, "window": window, "most": MOST_DELIVERIES}
    return Query(_STATS, parameters, _stats, absent=no_endpoint(key))


def _stats(*, deliveries: RawJson, attempts: RawJson, **columns: Any) -> EndpointStats:
    return EndpointStats(deliveries=deliveries.value, attempts=attempts.value, **columns)
