-- What is known of the last outage of an endpoint, also after its end: its length, and the steps of its breaker.

-- Of failures alone: an attempt that succeeds writes no entry. Attempts are locked first and the state after them, as
-- svc.webhook_acknowledge does, or the two would deadlock. Somebody may have built it before, concurrently.
create index if not exists webhook_delivery_attempts_failed
    on svc.webhook_delivery_attempts (endpoint_id, started_at) where outcome not in ('success', 'lost');

alter table svc.webhook_endpoint_state
    add column first_failure_at timestamptz,
    add column recovered_at timestamptz,
    add column breaker_opened_at timestamptz[] not null default '{}',
    add column breaker_opened_until timestamptz[] not null default '{}',
    add check (cardinality(breaker_opened_at) = cardinality(breaker_opened_until));
update svc.webhook_endpoint_state s
   set first_failure_at = coalesce(s.outage_since, s.failing_since)
 where s.failing_since is not null or s.outage_since is not null;
-- the step that it is in, as long as svc.webhook_acknowledge has made it
update svc.webhook_endpoint_state s
   set breaker_opened_at = array[s.breaker_until - least(
           interval '30 s' * power(2, least(s.breaker_count, 10)), interval '30 min')],
       breaker_opened_until = array[s.breaker_until]
 where s.breaker_until is not null;

comment on column svc.webhook_endpoint_state.first_failure_at is
    'The first failure of the last outage, which a resume does not end; null if it never failed.';
comment on column svc.webhook_endpoint_state.recovered_at is 'The success that ended it; null while it lasts.';
comment on column svc.webhook_endpoint_state.breaker_opened_at is
    'When the circuit breaker opened in that outage, the latest 32 times.';
comment on column svc.webhook_endpoint_state.breaker_opened_until is 'The time until which it held back, each time.';
