-- The time at which the next delivery or breaker comes due, or null: an idle worker waits for it. Not the earliest
-- pending delivery: those of paused or full endpoints lie in the past, and the worker would spin.
create or replace function svc.webhook_next_due() returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select least(
        (select d.next_attempt_at from svc.webhook_deliveries d
          where d.status = 'pending' and d.next_attempt_at > now() order by d.next_attempt_at limit 1),
        (select min(s.breaker_until) from svc.webhook_endpoint_state s
           join svc.webhook_endpoints e on e.id = s.endpoint_id
          where e.status = 'active' and s.breaker_until > now())
    )
$svc$;
revoke all on function svc.webhook_next_due() from public;
