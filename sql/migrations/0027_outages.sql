-- What is known of the last outage of an endpoint, also after its end: its length, and the steps of its breaker.
alter table svc.webhook_endpoint_state
    add column first_failure_at timestamptz,
    add column recovered_at timestamptz,
    add column breaker_opened_at timestamptz[] not null default '{}',
    add column breaker_opened_until timestamptz[] not null default '{}';
update svc.webhook_endpoint_state s
   set first_failure_at = coalesce(s.outage_since, s.failing_since)
 where s.failing_since is not null or s.outage_since is not null;
-- of failures alone: an attempt that succeeds writes no entry
create index webhook_delivery_attempts_failed on svc.webhook_delivery_attempts (endpoint_id, started_at)
    where outcome not in ('success', 'lost');

comment on column svc.webhook_endpoint_state.first_failure_at is
    'The first failure of the last outage, which a resume does not end; null if it never failed.';
comment on column svc.webhook_endpoint_state.recovered_at is 'The success that ended it; null while it lasts.';
comment on column svc.webhook_endpoint_state.breaker_opened_at is
    'When the circuit breaker opened in that outage, the latest 32 times.';
comment on column svc.webhook_endpoint_state.breaker_opened_until is 'The time until which it held back, each time.';
