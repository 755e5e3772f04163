-- The state of each endpoint. Deliveries are found by indexes, a probe for each endpoint: the queue may be long.
-- access: reader, admin
create or replace view svc.webhook_endpoint_health as
select e.id as endpoint_id, e.url, e.description, e.tenant, e.status, e.disabled_reason,
       case when e.status <> 'active' then e.status
            when s.breaker_until > now() then 'broken'
            when s.throttled_until > now() then 'throttled'
            when s.failure_streak > 0 then 'failing'
            else 'healthy' end as health,
       s.failure_streak, s.failing_since, s.breaker_until, s.last_success_at, s.last_failure_at,
       (select min(f.next_attempt_at)
          from unnest(enum_range(null::svc.webhook_lane)) r(lane)
         cross join lateral (
            select q.next_attempt_at from svc.webhook_queue q
             where q.lane = r.lane and q.endpoint_id = e.id
             order by q.next_attempt_at limit 1
         ) f) as next_attempt_at,
       (select count(*) from svc.webhook_leases l
         where l.endpoint_id = e.id and l.lease_until > now()) as in_flight,
       e.max_in_flight, e.client_certificate_expires_at,
       e.status = 'active' and coalesce(
           s.failure_streak > 0 or s.breaker_until > now()
               or e.client_certificate_expires_at < now() + interval '30 days', false
       ) as needs_attention,
       s.last_failure, s.throttled_until
  from svc.webhook_endpoints e
  left join svc.webhook_endpoint_state s on s.endpoint_id = e.id;
comment on view svc.webhook_endpoint_health is
    'The state of each endpoint: its health, its failures and its queue.';
comment on column svc.webhook_endpoint_health.endpoint_id is 'The endpoint.';
comment on column svc.webhook_endpoint_health.url is 'The URL of the receiver.';
comment on column svc.webhook_endpoint_health.description is 'A description for people.';
comment on column svc.webhook_endpoint_health.tenant is 'The tenant whose messages it gets; null: those of all.';
comment on column svc.webhook_endpoint_health.status is
    'active, paused or disabled: set by people, or by its failures.';
comment on column svc.webhook_endpoint_health.disabled_reason is 'Why it was disabled.';
comment on column svc.webhook_endpoint_health.health is
    'healthy, failing (its last attempt failed), broken (paused until breaker_until), throttled (its '
    'receiver asked to wait until throttled_until), paused or disabled.';
comment on column svc.webhook_endpoint_health.failure_streak is 'Failures since the last success.';
comment on column svc.webhook_endpoint_health.failing_since is 'The time of the first of them.';
comment on column svc.webhook_endpoint_health.breaker_until is
    'The time until which the circuit breaker sends nothing; then it tries one delivery.';
comment on column svc.webhook_endpoint_health.last_success_at is 'The last success, within 10 s.';
comment on column svc.webhook_endpoint_health.last_failure_at is 'The last failure.';
comment on column svc.webhook_endpoint_health.last_failure is 'What was wrong then: the endpoint answered 503.';
comment on column svc.webhook_endpoint_health.next_attempt_at is
    'When its first pending delivery is or was due; null if none is pending.';
comment on column svc.webhook_endpoint_health.in_flight is 'Attempts under way.';
comment on column svc.webhook_endpoint_health.max_in_flight is 'The most attempts under way at a time.';
comment on column svc.webhook_endpoint_health.client_certificate_expires_at is 'The end of the client certificate.';
comment on column svc.webhook_endpoint_health.needs_attention is
    'Whether it is failing or broken, or its client certificate ends within 30 days.';
comment on column svc.webhook_endpoint_health.throttled_until is
    'The time until which its receiver asked to send nothing; null after the next success.';
