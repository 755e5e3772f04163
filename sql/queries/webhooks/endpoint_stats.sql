-- The newest, in the order of the one index that has it, and of these the window: its bound in the same condition
-- could lead to an index of all deliveries. The attempts of each are looked up by an array, not joined, which would
-- read them all; since PostgreSQL 17 those of neighbours are read together.
with newest as materialized (
    select d.id, d.status from svc.webhook_deliveries d
     where d.endpoint_id = any (array[%(endpoint)s::uuid])
     order by d.endpoint_id, d.id desc limit %(most)s
),
recent as materialized (
    select n.id, n.status from newest n where n.id >= (select svc.uuid7_at(now() - %(window)s))
),
attempt as materialized (
    select a.outcome, a.duration_ms from svc.webhook_delivery_attempts a
     where a.delivery_id = any (array(select r.id from recent r))
)
select e.id::text as endpoint_id, %(window)s as "window",
       (select coalesce(pg_catalog.json_object_agg(status, n), '{}')
          from (select status, count(*) as n from recent group by status order by status) s) as deliveries,
       (select coalesce(pg_catalog.json_object_agg(outcome, n), '{}')
          from (select outcome, count(*) as n from attempt group by outcome order by outcome) o) as attempts,
       (select pg_catalog.percentile_cont(0.5) within group (order by duration_ms) / 1000::float8
          from attempt) as p50,
       (select pg_catalog.percentile_cont(0.95) within group (order by duration_ms) / 1000::float8
          from attempt) as p95,
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
