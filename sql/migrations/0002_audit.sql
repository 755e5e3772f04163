-- The audit log: one row for each change, in monthly partitions.
create type svc.audit_operation as enum ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT');
create type svc.audit_severity as enum ('low', 'medium', 'high', 'critical');

-- No CHECK here: PostgreSQL parses each one anew for every one-row insert, and only our functions write.
create table svc.audit_logs (
    id bigint generated always as identity,
    "timestamp" timestamptz not null default clock_timestamp(),
    xact_id bigint not null default txid_current(),
    table_name text collate "C" not null,
    table_oid oid not null,
    operation svc.audit_operation not null,
    record_id text collate "C",
    actor_id text collate "C",
    tenant_id text collate "C",
    db_user text collate "C" not null default session_user,
    db_role text collate "C",
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    redacted_fields text[],
    context jsonb,
    erased_leaf bytea,
    primary key ("timestamp", id)
) partition by range ("timestamp");

create index audit_logs_record on svc.audit_logs (table_name, record_id, "timestamp");
create index audit_logs_table on svc.audit_logs (table_name, "timestamp", id);
create index audit_logs_actor on svc.audit_logs (actor_id, "timestamp") where actor_id is not null;
-- ids and numbers of transactions rise with the order of the rows, so a BRIN index costs captures nothing
create index audit_logs_id on svc.audit_logs using brin (id) with (pages_per_range = 32, autosummarize = on);
create index audit_logs_xact on svc.audit_logs using brin (xact_id) with (pages_per_range = 32, autosummarize = on);

-- The key of svc.audit_hash, padded as HMAC wants it (RFC 2104): made here, and never seen by anybody.
create table svc.audit_hash_key (
    is_only boolean primary key default true check (is_only),
    inner_pad bytea not null,
    outer_pad bytea not null
);
with key as (
    select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
           || decode(repeat('00', 32), 'hex') as bytes
),
pads as (
    select string_agg(set_byte('\x00', 0, get_byte(bytes, n) # 54), '' order by n) as inner_pad,
           string_agg(set_byte('\x00', 0, get_byte(bytes, n) # 92), '' order by n) as outer_pad
      from key, generate_series(0, 63) n
)
insert into svc.audit_hash_key (inner_pad, outer_pad) select inner_pad, outer_pad from pads;

-- A month that nobody made in time must not stop the application's writes.
create table svc.audit_logs_default partition of svc.audit_logs default;
