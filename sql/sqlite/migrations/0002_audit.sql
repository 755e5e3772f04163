-- The audit log. No constraint that a capture could break: INSERT OR IGNORE of the application would lose the entry.
create table svc_audit_logs (
    id integer primary key autoincrement, -- the order of capture: there is one writer at a time
    timestamp text not null default (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
    xact_id integer,
    table_name text not null,
    operation text not null,
    record_id text,
    moved_from text,
    actor_id text,
    tenant_id text,
    db_user text,
    db_role text,
    before_data text,
    after_data text,
    changed_fields text,
    label text,
    severity text,
    compliance text,
    description text,
    redacted_fields text,
    context text
);
create index svc_audit_logs_record on svc_audit_logs (table_name, record_id, timestamp);
create index svc_audit_logs_moved on svc_audit_logs (table_name, moved_from, timestamp) where moved_from is not null;
create index svc_audit_logs_table on svc_audit_logs (table_name, timestamp, id);
create index svc_audit_logs_time on svc_audit_logs (timestamp, id);
create index svc_audit_logs_actor on svc_audit_logs (actor_id, timestamp) where actor_id is not null;

-- Rows that a running REPLACE may delete, which fires no trigger for them. The key is that of the new row, by which it
-- would delete them. Empty between statements, apart from rows that an INSERT OR IGNORE has kept.
create table svc_audit_replaced (
    seq integer primary key,
    table_name text not null,
    conflict text not null,
    record_id text,
    actor_id text,
    tenant_id text,
    context text,
    before_data text,
    redacted_fields text,
    label text,
    severity text,
    compliance text,
    description text
);
create index svc_audit_replaced_conflict on svc_audit_replaced (table_name, conflict);

-- Tables whose rules leave changes out of the log, or once did: their entries need not follow each other.
create table svc_audit_omissions (
    table_name text not null primary key,
    since text not null default (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
    ignored text not null check (json_type(ignored) = 'array'),
    is_conditional integer not null
) without rowid;

-- The key of hashed columns, made here.
create table svc_audit_hash_key (
    key blob not null
);
insert into svc_audit_hash_key (key)
select randomblob(64) where not exists (select 1 from svc_audit_hash_key);

-- A purge writes here, in its own transaction, the time before which entries may go. Empty at any other time.
create table svc_audit_purge (
    before text not null
);
