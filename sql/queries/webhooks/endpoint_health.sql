-- A probe for each endpoint of the page. Ids grow with time, so they bound the day.
select h.endpoint_id::text, h.url, h.description, h.tenant, h.health, h.needs_attention, h.disabled_reason,
       h.failure_streak, h.failing_since, h.breaker_until, h.throttled_until, h.last_success_at, h.last_failure_at,
       h.last_failure,
       greatest(now() - h.next_attempt_at, '0') as backlog_age, h.in_flight::integer, h.client_certificate_expires_at,
       (select count(*) filter (where f.status = 'failed')::integer from (
            select d.status from svc.webhook_deliveries d
             where d.endpoint_id = h.endpoint_id and d.failure is not null
               and d.id >= svc.uuid7_at(now() - interval '1 day') order by d.id desc limit 100) f) as failed_deliveries
  from svc.webhook_endpoint_health h
