-- Webhooks: what can be sent, to whom, and every attempt to deliver it.
create table svc.webhook_event_types (
    name text primary key,
    description text not null,
    schema json,
    patterns text[] not null, -- the subscriptions that match it
    synced_at timestamptz not null default now()
);
-- Ours: the configuration cannot define names that begin with webhook., and nobody can send them.
-- '*' does not subscribe to them.
insert into svc.webhook_event_types (name, description, patterns) values (
    'webhook.endpoint.disabled', 'An endpoint was disabled: by somebody, by its 410 Gone, or after days of failures',
    '{webhook.endpoint.disabled,webhook.endpoint.*,webhook.*}'
);

-- The payload once, however many endpoints; json, because the bytes signed on the third attempt must equal the first's.
create table svc.webhook_messages (
    id uuid primary key,
    event_name text not null,
    payload json not null,
    tenant text,
    idempotency_key text,
    trace_context text,
    created_at timestamptz not null default now()
);
-- coalesce, because unique treats null tenants as different from each other
create unique index webhook_messages_idempotency on svc.webhook_messages (coalesce(tenant, ''), idempotency_key)
    where idempotency_key is not null;

create table svc.webhook_endpoints (
    id uuid primary key,
    url text not null,
    description text not null default '',
    tenant text,
    events text[] not null check (cardinality(events) > 0 and array_position(events, null) is null),
    secret bytea not null,
    previous_secret bytea,
    previous_secret_expires_at timestamptz,
    headers bytea,
    status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
    disabled_reason text,
    max_in_flight integer not null default 8 check (max_in_flight between 1 and 1000),
    timeout interval not null default '15 s' check (timeout between '1 s' and '60 s'),
    version integer not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((previous_secret is null) = (previous_secret_expires_at is null)),
    check ((status = 'disabled') = (disabled_reason is not null))
);
create index webhook_endpoints_events on svc.webhook_endpoints using gin (events) with (fastupdate = off)
    where status <> 'disabled';

-- What the workers write about an endpoint, apart from what people write.
create table svc.webhook_endpoint_state (
    endpoint_id uuid primary key references svc.webhook_endpoints on delete cascade,
    failure_streak integer not null default 0 check (failure_streak >= 0),
    failing_since timestamptz,
    breaker_until timestamptz,
    breaker_count integer not null default 0 check (breaker_count >= 0),
    last_success_at timestamptz,
    last_failure_at timestamptz,
    check ((failure_streak > 0) = (failing_since is not null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);

-- A lease is a visibility timeout: claiming moves next_attempt_at to its end, so a dead worker's rows come due again.
-- No foreign key to endpoints: its share locks cost a third of send's throughput.
create table svc.webhook_deliveries (
    id uuid primary key,
    message_id uuid not null,
    endpoint_id uuid not null,
    event_name text not null,
    status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'canceled')),
    attempts integer not null default 0 check (attempts >= 0),
    max_attempts integer not null check (max_attempts > 0),
    manual_attempt integer, -- the number of the attempt that somebody asked for
    next_attempt_at timestamptz default now(),
    lease_id uuid,
    lease_until timestamptz,
    worker text,
    finished_at timestamptz,
    last_status_code integer,
    last_error text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((status = 'pending') = (next_attempt_at is not null)),
    check ((status <> 'pending') = (finished_at is not null)),
    check ((lease_id is null) = (lease_until is null)),
    check (lease_id is null or status = 'pending')
) with (
    fillfactor = 80,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
create unique index webhook_deliveries_message on svc.webhook_deliveries (message_id, endpoint_id);
create index webhook_deliveries_ready on svc.webhook_deliveries (endpoint_id, next_attempt_at, id)
    where status = 'pending';
create index webhook_deliveries_due on svc.webhook_deliveries (next_attempt_at) where status = 'pending';
create index webhook_deliveries_leased on svc.webhook_deliveries (endpoint_id, lease_until) where lease_id is not null;
create index webhook_deliveries_list on svc.webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_failed on svc.webhook_deliveries (endpoint_id, finished_at) where status = 'failed';

create table svc.webhook_delivery_attempts (
    id bigint generated always as identity primary key,
    delivery_id uuid not null,
    endpoint_id uuid not null,
    attempt integer not null,
    cause text not null default 'auto' check (cause in ('auto', 'manual', 'test')),
    started_at timestamptz not null,
    duration_ms integer,
    outcome text not null check (outcome in (
        'success', 'http_error', 'timeout', 'connect_error', 'tls_error', 'dns_error', 'blocked', 'lost'
    )),
    status_code integer,
    error text,
    response_headers json,
    response_body text check (octet_length(response_body) <= 16384),
    remote_ip inet,
    worker text
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
create index webhook_delivery_attempts_delivery on svc.webhook_delivery_attempts (delivery_id, id);
