-- The view has one row of an endpoint. The first and the last answer are read by their keys
select h.endpoint_id::text, now() as at, h.health, h.disabled_reason, h.failure_streak,
       case when h.breaker_until > now() then h.breaker_until end as breaker_until,
       case when h.throttled_until > now() then h.throttled_until end as throttled_until,
       h.next_attempt_at, h.last_success_at, h.last_failure_at, h.last_failure,
       o.since, o.until, o.opened_at, o.opened_until, o.starts, o.durations_ms, o.outcomes, o.status_codes,
       o.is_every_attempt, o.waiting, o.waiting_since, o.failed, o.is_every_failure,
       array[f.id, l.id]::text[] as ids, array[f.delivery_id, l.delivery_id]::text[] as delivery_ids,
       array[fd.event_name, ld.event_name] as event_names, array[f.attempt, l.attempt] as numbers,
       array[f.cause, l.cause] as causes, array[f.started_at, l.started_at] as started,
       array[f.duration_ms, l.duration_ms] as took_ms, array[f.outcome, l.outcome] as ends,
       array[f.status_code, l.status_code] as answers, array[f.error, l.error] as errors,
       array[f.response_headers, l.response_headers]::text[] as headers,
       array[f.response_body, l.response_body] as bodies, array[host(f.remote_ip), host(l.remote_ip)] as remote_ips,
       array[f.worker, l.worker] as workers
  from svc.webhook_endpoint_health h
 cross join lateral svc.webhook_outage(h.endpoint_id, %(tenant)s, %(most)s) o
  left join svc.webhook_delivery_attempts f on f.delivery_id = o.first_delivery and f.id = o.first_attempt
  left join svc.webhook_delivery_attempts l on l.delivery_id = o.last_delivery and l.id = o.last_attempt
  left join svc.webhook_deliveries fd on fd.id = o.first_delivery
  left join svc.webhook_deliveries ld on ld.id = o.last_delivery
 where h.endpoint_id = %(endpoint)s
