-- Webhooks: what can be sent, what was sent, and to whom.
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
    'webhook.delivery.exhausted', 'Deliveries to an endpoint failed with no attempt left; at most once a minute',
    '{webhook.delivery.exhausted,webhook.delivery.*,webhook.*}'
), (
    'webhook.endpoint.disabled', 'An endpoint was disabled: by somebody, by its 410 Gone, or after days of failures',
    '{webhook.endpoint.disabled,webhook.endpoint.*,webhook.*}'
), (
    'webhook.endpoint.failing', 'An endpoint failed ten times in a row: the beginning of an outage',
    '{webhook.endpoint.failing,webhook.endpoint.*,webhook.*}'
), (
    'webhook.endpoint.recovered', 'An endpoint answered with success again: the end of an outage',
    '{webhook.endpoint.recovered,webhook.endpoint.*,webhook.*}'
);

-- The payload once, however many endpoints; json, because the bytes signed on the third attempt must equal the
-- first's.
create table svc.webhook_messages (
    id uuid primary key,
    event_name text not null,
    payload json not null,
    tenant text,
    idempotency_key text,
    key text,
    sequence bigint,
    trace_context text,
    created_at timestamptz not null default now(),
    copy_of uuid,
    xact_id bigint not null default txid_current()
);
-- coalesce, because unique treats null tenants as different from each other
create unique index webhook_messages_idempotency on svc.webhook_messages (coalesce(tenant, ''), idempotency_key)
    where idempotency_key is not null;
-- to list deliveries by event, through their messages, which never change
create index webhook_messages_event on svc.webhook_messages (event_name, id);
create index webhook_messages_tenant on svc.webhook_messages (tenant, id) where tenant is not null;
-- from the audit log to what the same transaction sent; not BRIN, because the room of pruned messages is used again
create index webhook_messages_xact on svc.webhook_messages (xact_id);

-- A sender holds the row of its key until it commits, so sequences are in the order of commits. Rows stay for ever: a
-- key whose row were deleted would begin at 1 again, and receivers would take all that follows for stale.
create table svc.webhook_keys (
    tenant text not null, -- '' is none, as in the index of idempotency keys
    key text not null check (octet_length(key) between 1 and 255),
    sequence bigint not null check (sequence >= 0),
    id bigint generated always as identity, -- short, for the queue
    primary key (tenant, key)
) with (fillfactor = 80, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);

create table svc.webhook_endpoints (
    id uuid primary key,
    url text not null,
    url_by text not null default 'operator' check (url_by in ('operator', 'customer')),
    description text not null default '',
    tenant text,
    events text[] not null check (cardinality(events) > 0 and array_position(events, null) is null),
    filter text check (filter is null or char_length(filter) <= 1000 and filter::jsonpath is not null),
    ordering text not null default 'none' check (ordering in ('none', 'key', 'strict')),
    signatures text[] not null default '{v1}' check (
        cardinality(signatures) > 0 and signatures <@ '{v1,v1a}' and array_position(signatures, null) is null
    ),
    secret bytea not null,
    previous_secret bytea,
    previous_secret_expires_at timestamptz,
    signing_key bytea,
    previous_signing_key bytea,
    public_key text,
    headers bytea,
    tls bytea,
    client_certificate_expires_at timestamptz,
    status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
    disabled_reason text,
    max_in_flight integer not null default 8 check (max_in_flight between 1 and 1000),
    rate_per_second integer check (rate_per_second between 1 and 10000),
    timeout interval not null default '15 s' check (timeout between '1 s' and '60 s'),
    version integer not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((previous_secret is null) = (previous_secret_expires_at is null)),
    check (previous_signing_key is null or previous_secret_expires_at is not null),
    check (('v1a' = any (signatures)) = (signing_key is not null)),
    check ((signing_key is null) = (public_key is null)),
    check (client_certificate_expires_at is null or tls is not null),
    check ((status = 'disabled') = (disabled_reason is not null))
);
create index webhook_endpoints_events on svc.webhook_endpoints using gin (events) with (fastupdate = off)
    where status <> 'disabled';
-- tells senders at once that there are none, as in most databases
create index webhook_endpoints_filtered on svc.webhook_endpoints (id) where filter is not null;

-- What the workers write about an endpoint, apart from what people write.
create table svc.webhook_endpoint_state (
    endpoint_id uuid primary key references svc.webhook_endpoints on delete cascade,
    failure_streak integer not null default 0 check (failure_streak >= 0),
    failing_since timestamptz,
    breaker_until timestamptz,
    breaker_count integer not null default 0 check (breaker_count >= 0),
    last_success_at timestamptz,
    last_failure_at timestamptz,
    open_since timestamptz,
    outage_since timestamptz,
    outage_told_at timestamptz,
    untold_exhausted integer not null default 0 check (untold_exhausted >= 0),
    exhausted_told_at timestamptz,
    check ((failure_streak > 0) = (failing_since is not null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
create index webhook_endpoint_state_breaker on svc.webhook_endpoint_state (breaker_until)
    where breaker_until is not null;

comment on table svc.webhook_event_types is 'The events that can be sent, as the configuration defines them.';
comment on column svc.webhook_event_types.name is 'The name: order.created.';
comment on column svc.webhook_event_types.description is 'A description for people.';
comment on column svc.webhook_event_types.schema is 'The JSON Schema of its payload, if any.';
comment on column svc.webhook_event_types.patterns is 'Internal: the subscriptions that match it.';
comment on column svc.webhook_event_types.synced_at is 'When install last wrote it.';

comment on table svc.webhook_messages is 'The messages sent: a row each, however many endpoints receive it.';
comment on column svc.webhook_messages.id is 'The message''s id (UUID version 7), which svc.send returned.';
comment on column svc.webhook_messages.event_name is 'The event.';
comment on column svc.webhook_messages.payload is 'The data, as it was sent.';
comment on column svc.webhook_messages.tenant is 'The tenant of the message.';
comment on column svc.webhook_messages.idempotency_key is 'The sender''s key: a second message with it is not stored.';
comment on column svc.webhook_messages.key is 'The key whose messages have an order, for example order-7.';
comment on column svc.webhook_messages.sequence is
    'The number of the message among those of its tenant and key: from 1, in the order of commits, without gaps.';
comment on column svc.webhook_messages.trace_context is 'The trace of the sender (W3C traceparent).';
comment on column svc.webhook_messages.created_at is 'When the transaction began that sent it.';
comment on column svc.webhook_messages.copy_of is
    'The message that a replay with new ids has copied; this one is for one endpoint only.';
comment on column svc.webhook_messages.xact_id is
    'The transaction that sent it, as in svc.audit_logs; of a copy, that of the first. New numbers after a restore.';

comment on table svc.webhook_keys is 'Internal: the last sequence of each key.';
comment on column svc.webhook_keys.tenant is 'The tenant; empty if there is none.';
comment on column svc.webhook_keys.key is 'The key.';
comment on column svc.webhook_keys.sequence is 'The sequence of its last message.';
comment on column svc.webhook_keys.id is 'Its number in the queue.';

comment on table svc.webhook_endpoints is
    'The receivers of messages. Secrets, keys and headers are encrypted, and closed to readers.';
comment on column svc.webhook_endpoints.id is 'The endpoint''s id.';
comment on column svc.webhook_endpoints.url is 'The URL of the receiver.';
comment on column svc.webhook_endpoints.url_by is
    'Who gave the URL: operator, or customer, whose URLs lead to public addresses alone.';
comment on column svc.webhook_endpoints.description is 'A description for people.';
comment on column svc.webhook_endpoints.tenant is 'The tenant whose messages it gets; null: those of all.';
comment on column svc.webhook_endpoints.events is 'The events that it wants: names, patterns such as order.*, or *.';
comment on column svc.webhook_endpoints.filter is
    'An SQL/JSON path predicate that the payload of a message must meet; null: all meet it.';
comment on column svc.webhook_endpoints.ordering is
    'none, key (the messages of a key one at a time) or strict (a failed one also blocks its key).';
comment on column svc.webhook_endpoints.signatures is 'The signatures of an attempt: v1 (secret), v1a (key pair).';
comment on column svc.webhook_endpoints.secret is 'Internal: the sealed secret that signs.';
comment on column svc.webhook_endpoints.previous_secret is 'Internal: the sealed secret before a rotation.';
comment on column svc.webhook_endpoints.previous_secret_expires_at is
    'The time until which the secret and the key pair before a rotation sign too.';
comment on column svc.webhook_endpoints.signing_key is 'Internal: the sealed private key of the key pair.';
comment on column svc.webhook_endpoints.previous_signing_key is 'Internal: the sealed private key before a rotation.';
comment on column svc.webhook_endpoints.public_key is 'The public key that verifies v1a; null without v1a.';
comment on column svc.webhook_endpoints.headers is 'Internal: the sealed headers that are sent along.';
comment on column svc.webhook_endpoints.tls is
    'Internal: the sealed authorities to trust, and the client certificate with its key.';
comment on column svc.webhook_endpoints.client_certificate_expires_at is 'The end of the client certificate.';
comment on column svc.webhook_endpoints.status is
    'active, paused (deliveries wait) or disabled (deliveries are canceled).';
comment on column svc.webhook_endpoints.disabled_reason is 'Why it was disabled.';
comment on column svc.webhook_endpoints.max_in_flight is 'The most attempts under way at a time.';
comment on column svc.webhook_endpoints.rate_per_second is
    'The most attempts that begin within a second; null: no limit.';
comment on column svc.webhook_endpoints.timeout is 'The limit of an attempt''s duration.';
comment on column svc.webhook_endpoints.version is 'Rises with each change.';
comment on column svc.webhook_endpoints.created_at is 'When it was registered.';
comment on column svc.webhook_endpoints.updated_at is 'When somebody last changed it.';

comment on table svc.webhook_endpoint_state is
    'Internal: what workers know of an endpoint; read svc.webhook_endpoint_health.';
comment on column svc.webhook_endpoint_state.endpoint_id is 'The endpoint.';
comment on column svc.webhook_endpoint_state.failure_streak is 'Failures since the last success.';
comment on column svc.webhook_endpoint_state.failing_since is 'The time of the first of them.';
comment on column svc.webhook_endpoint_state.breaker_until is 'The time until which nothing is sent.';
comment on column svc.webhook_endpoint_state.breaker_count is 'The number of failed probes of the breaker.';
comment on column svc.webhook_endpoint_state.last_success_at is 'The last success, within 10 s.';
comment on column svc.webhook_endpoint_state.last_failure_at is 'The last failure.';
comment on column svc.webhook_endpoint_state.open_since is
    'When it was last resumed, or its circuit breaker last closed: no worker could send before.';
comment on column svc.webhook_endpoint_state.outage_since is
    'The first failure of the outage that webhook.endpoint.failing told; null if there is none.';
comment on column svc.webhook_endpoint_state.outage_told_at is 'When webhook.endpoint.failing last told.';
comment on column svc.webhook_endpoint_state.untold_exhausted is
    'Deliveries that ran out of attempts since webhook.delivery.exhausted last told.';
comment on column svc.webhook_endpoint_state.exhausted_told_at is 'When that was.';
