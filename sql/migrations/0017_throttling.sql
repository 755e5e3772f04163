-- Receivers that ask a sender to wait, and endpoints whose rate is kept within each second too.

-- Refusals of a receiver that answers 429 do not count as attempts. No checks: see 0008_implied_checks.sql.
alter table svc.webhook_deliveries
    add column throttled_attempts integer not null default 0,
    add column throttled_since timestamptz;
comment on column svc.webhook_deliveries.throttled_attempts is
    'How many of them the receiver refused for a while (429, or 503 with Retry-After); they do not count for a day.';
comment on column svc.webhook_deliveries.throttled_since is 'When the first of these was, since somebody retried it.';
comment on column svc.webhook_deliveries.max_attempts is
    'The attempts after which it fails, without lost and throttled ones.';

alter table svc.webhook_endpoint_state
    add column throttled_until timestamptz,
    add column throttled_since timestamptz;
create index webhook_endpoint_state_throttled on svc.webhook_endpoint_state (throttled_until)
    where throttled_until is not null;
comment on column svc.webhook_endpoint_state.throttled_until is
    'The time until which the receiver asked to send nothing; null after the next success.';
comment on column svc.webhook_endpoint_state.throttled_since is 'The first of these answers since the last success.';

-- Starts at an endpoint with a rate keep a distance; see svc.webhook_pace. What is known of the last second goes.
delete from svc.webhook_rates;
alter table svc.webhook_rates
    drop column started_at, -- and the check on both
    drop column started,
    add column spent_until timestamptz not null;
comment on table svc.webhook_rates is 'Internal: the pace of endpoints that have a rate.';
comment on column svc.webhook_rates.spent_until is 'When the next attempt is due at an even pace.';
comment on column svc.webhook_rates.full_until is 'The time until which no more may start, if the rate is reached.';
