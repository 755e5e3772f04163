-- Deliveries of webhooks: those that wait, those that are under way, and every attempt.

-- What was sent to whom and what became of it. No foreign key to endpoints: its share locks cost a third of send's
-- throughput. No column that changes when a delivery succeeds is in an index, its predicates included, and a part of
-- every page is free: so the one update of most deliveries writes no index entry.
create table svc.webhook_deliveries (
    id uuid primary key,
    message_id uuid not null,
    endpoint_id uuid not null,
    event_name text not null,
    status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'canceled')),
    attempts integer not null default 0 check (attempts >= 0),
    lost_attempts integer not null default 0 check (lost_attempts between 0 and attempts),
    max_attempts integer not null check (max_attempts > 0),
    manual_attempt integer, -- the number of the attempt that somebody asked for
    next_attempt_at timestamptz default now(),
    finished_at timestamptz,
    failure text check (failure in ('failed', 'canceled')),
    last_status_code integer,
    last_error text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((status = 'pending') = (next_attempt_at is not null)),
    check ((status <> 'pending') = (finished_at is not null)),
    check (failure is not distinct from nullif(nullif(status, 'pending'), 'delivered'))
) with (
    fillfactor = 60,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
create unique index webhook_deliveries_message on svc.webhook_deliveries (message_id, endpoint_id);
create index webhook_deliveries_list on svc.webhook_deliveries (endpoint_id, id desc);
-- by failure and not by status, which changes when a delivery succeeds
create index webhook_deliveries_failure on svc.webhook_deliveries (failure, id) where failure is not null;
create index webhook_deliveries_endpoint_failure on svc.webhook_deliveries (endpoint_id, id) where failure is not null;

-- A pending delivery has a row here while it waits, or in webhook_leases while an attempt is under way; others have
-- none. A claim moves it from here to there, its acknowledgement takes it from there, and a retry brings it back. The
-- functions lock the delivery first and then this row, except the claim, which locks this row only and waits for none.
--
-- In the lane 'due' it can start as soon as its endpoint has room; in 'later' its time has not come; in 'behind'
-- another of its key comes first; in 'parked' its endpoint is paused, or its circuit breaker is open. Only the first
-- lane is searched for work, so what waits otherwise costs a claim nothing.
--
-- An endpoint with an ordering has one attempt of a key under way at a time, and starts the least sequence that is
-- pending. Keys and sequences stand here for such endpoints only. The claim puts deliveries behind; who takes away
-- what is before them notes the key in webhook_freed, and the next claim looks at its first again. Claims take turns,
-- so no note can come too early or be lost.
create type svc.webhook_lane as enum ('due', 'later', 'behind', 'parked');
create table svc.webhook_queue (
    lane svc.webhook_lane not null default 'due',
    endpoint_id uuid not null,
    next_attempt_at timestamptz not null,
    delivery_id uuid not null,
    key_id bigint,
    sequence bigint,
    primary key (lane, endpoint_id, next_attempt_at, delivery_id),
    check ((key_id is null) = (sequence is null))
) with (
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);
create index webhook_queue_later on svc.webhook_queue (next_attempt_at) where lane = 'later';
create index webhook_queue_key on svc.webhook_queue (endpoint_id, key_id, sequence, delivery_id)
    where key_id is not null;

-- A lease is a visibility timeout: when it has ended, the next claim returns the delivery to the queue.
create table svc.webhook_leases (
    endpoint_id uuid not null,
    delivery_id uuid not null,
    lease_id uuid not null default gen_random_uuid(),
    lease_until timestamptz not null,
    leased_at timestamptz not null,
    worker text not null,
    key_id bigint,
    sequence bigint,
    primary key (endpoint_id, delivery_id),
    check ((key_id is null) = (sequence is null))
) with (
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);
create index webhook_leases_until on svc.webhook_leases (lease_until);
create unique index webhook_leases_key on svc.webhook_leases (endpoint_id, key_id) where key_id is not null;

-- The failed deliveries that block their key: those of endpoints whose ordering is strict.
create table svc.webhook_blocks (
    delivery_id uuid primary key,
    endpoint_id uuid not null,
    key_id bigint not null,
    sequence bigint not null
);
create index webhook_blocks_key on svc.webhook_blocks (endpoint_id, key_id, sequence);

-- The keys of endpoints at whose first delivery the next claim has to look, and the endpoints that it has to look at.
create table svc.webhook_freed (
    id bigint generated always as identity primary key,
    endpoint_id uuid not null,
    key_id bigint -- null: the endpoint, if it is parked
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The endpoints whose deliveries are parked, all or some of them, and the time at which a claim looks at them again
-- even if nobody has noted that they may start something; only claims write it.
create table svc.webhook_parked_endpoints (
    endpoint_id uuid primary key,
    parked_until timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
create index webhook_parked_endpoints_until on svc.webhook_parked_endpoints (parked_until);

-- The starts at endpoints with a rate, of the second before the last one; only claims write it.
create table svc.webhook_rates (
    endpoint_id uuid primary key,
    started_at timestamptz[] not null,
    started integer[] not null,
    full_until timestamptz, -- no more may start before
    check (cardinality(started_at) = cardinality(started))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
create index webhook_rates_full on svc.webhook_rates (full_until) where full_until is not null;

create table svc.webhook_delivery_attempts (
    id bigint generated always as identity,
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
    worker text,
    primary key (delivery_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

comment on table svc.webhook_deliveries is
    'Deliveries and their results: a row for each message and endpoint.';
comment on column svc.webhook_deliveries.id is 'The delivery''s id (UUID version 7), which receivers get.';
comment on column svc.webhook_deliveries.message_id is 'The message.';
comment on column svc.webhook_deliveries.endpoint_id is 'The endpoint; it may have been deleted.';
comment on column svc.webhook_deliveries.event_name is 'The event.';
comment on column svc.webhook_deliveries.status is 'pending, delivered, failed or canceled.';
comment on column svc.webhook_deliveries.attempts is 'The attempts that have ended; each is on record.';
comment on column svc.webhook_deliveries.lost_attempts is
    'How many of them were lost with their worker; these have a limit of their own, 20.';
comment on column svc.webhook_deliveries.max_attempts is 'The attempts after which it fails, without lost ones.';
comment on column svc.webhook_deliveries.manual_attempt is
    'Internal: the number of the attempt that somebody asked for.';
comment on column svc.webhook_deliveries.next_attempt_at is
    'When it is due, if it is pending; while an attempt is under way, when that was due.';
comment on column svc.webhook_deliveries.finished_at is 'When it was delivered, failed or was canceled.';
comment on column svc.webhook_deliveries.failure is
    'The status, if it is failed or canceled; null otherwise. Ask for it to find those by an index.';
comment on column svc.webhook_deliveries.last_status_code is 'The status that the receiver last answered with.';
comment on column svc.webhook_deliveries.last_error is 'Why the last attempt failed.';
comment on column svc.webhook_deliveries.created_at is 'When the transaction began that sent it.';
comment on column svc.webhook_deliveries.updated_at is 'When its state last changed.';

comment on table svc.webhook_queue is 'Internal: the pending deliveries that wait.';
comment on column svc.webhook_queue.endpoint_id is 'The endpoint.';
comment on column svc.webhook_queue.next_attempt_at is 'When it is due.';
comment on column svc.webhook_queue.delivery_id is 'The delivery.';
comment on column svc.webhook_queue.lane is
    'due, later if its time has not come, behind if another of its key comes first, or parked with its endpoint.';
comment on column svc.webhook_queue.key_id is 'The key that it is ordered by, if any.';
comment on column svc.webhook_queue.sequence is 'Its sequence among those of the key.';

comment on table svc.webhook_leases is 'Internal: the pending deliveries whose attempts are under way.';
comment on column svc.webhook_leases.endpoint_id is 'The endpoint.';
comment on column svc.webhook_leases.delivery_id is 'The delivery.';
comment on column svc.webhook_leases.lease_id is 'The worker''s lease: only who knows it can tell the result.';
comment on column svc.webhook_leases.lease_until is 'When the lease ends, and the attempt is lost.';
comment on column svc.webhook_leases.leased_at is 'When the attempt was claimed.';
comment on column svc.webhook_leases.worker is 'The worker that has it.';
comment on column svc.webhook_leases.key_id is 'The key that it is ordered by, if any.';
comment on column svc.webhook_leases.sequence is 'Its sequence among those of the key.';

comment on table svc.webhook_blocks is 'Internal: the failed deliveries that block their key.';
comment on column svc.webhook_blocks.delivery_id is 'The delivery.';
comment on column svc.webhook_blocks.endpoint_id is 'The endpoint.';
comment on column svc.webhook_blocks.key_id is 'The key.';
comment on column svc.webhook_blocks.sequence is 'The sequence of its message; lesser ones are not blocked.';

comment on table svc.webhook_freed is 'Internal: the keys and endpoints at which the next claim has to look.';
comment on column svc.webhook_freed.id is 'The number of the note.';
comment on column svc.webhook_freed.endpoint_id is 'The endpoint.';
comment on column svc.webhook_freed.key_id is 'The key; null: the endpoint.';

comment on table svc.webhook_parked_endpoints is 'Internal: the endpoints whose deliveries claims do not look at.';
comment on column svc.webhook_parked_endpoints.endpoint_id is 'The endpoint.';
comment on column svc.webhook_parked_endpoints.parked_until is 'The time at which a claim looks at it again.';

comment on table svc.webhook_rates is 'Internal: the latest starts at endpoints that have a rate.';
comment on column svc.webhook_rates.endpoint_id is 'The endpoint.';
comment on column svc.webhook_rates.started_at is 'The times of claims.';
comment on column svc.webhook_rates.started is 'The number that each of them started.';
comment on column svc.webhook_rates.full_until is 'The time until which no more may start, if the rate is reached.';

comment on table svc.webhook_delivery_attempts is 'Every attempt to deliver, and what the receiver answered.';
comment on column svc.webhook_delivery_attempts.id is 'The attempt''s id.';
comment on column svc.webhook_delivery_attempts.delivery_id is 'The delivery.';
comment on column svc.webhook_delivery_attempts.endpoint_id is 'The endpoint.';
comment on column svc.webhook_delivery_attempts.attempt is 'The number of the attempt, from 1.';
comment on column svc.webhook_delivery_attempts.cause is 'auto, manual (somebody asked for it) or test (a ping).';
comment on column svc.webhook_delivery_attempts.started_at is 'When it began.';
comment on column svc.webhook_delivery_attempts.duration_ms is 'The duration; null if it is unknown.';
comment on column svc.webhook_delivery_attempts.outcome is
    'success, http_error, timeout, connect_error, tls_error, dns_error, blocked or lost (its worker died).';
comment on column svc.webhook_delivery_attempts.status_code is 'The status of the response.';
comment on column svc.webhook_delivery_attempts.error is 'Why it failed, and whether the request was sent twice.';
comment on column svc.webhook_delivery_attempts.response_headers is 'The headers of the response, without cookies.';
comment on column svc.webhook_delivery_attempts.response_body is
    'The beginning of the response''s body, up to 16 KiB.';
comment on column svc.webhook_delivery_attempts.remote_ip is 'The address that was connected to.';
comment on column svc.webhook_delivery_attempts.worker is 'The worker that made it.';
