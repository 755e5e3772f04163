-- When each task of a worker last succeeded, and what is wrong with it since.
create table svc.maintenance (
    task text primary key check (task in ('maintenance', 'purge', 'sealing')),
    succeeded_at timestamptz,
    problem text
);

-- Legal holds: nothing that one names is purged or erased until somebody lifts it. Capture records both.
create table svc.audit_holds (
    id bigint generated always as identity primary key,
    table_name text collate "C" not null,
    record_id text collate "C" check (record_id <> ''),
    reason text not null check (length(reason) between 1 and 2000),
    held_at timestamptz not null default now(),
    held_by text not null,
    lifted_at timestamptz,
    lifted_by text,
    lift_reason text check (length(lift_reason) between 1 and 2000),
    check ((lifted_at is null) = (lifted_by is null) and (lifted_at is null) = (lift_reason is null))
);
create unique index audit_holds_target on svc.audit_holds (table_name, coalesce(record_id, ''))
    where lifted_at is null;

-- The records that holds of a record keep; see svc.audit_follow_holds.
create table svc.audit_held_records (
    hold_id bigint not null,
    table_name text collate "C" not null,
    record_id text collate "C" not null,
    followed_at timestamptz,
    primary key (hold_id, table_name, record_id)
);
create index audit_held_records_record on svc.audit_held_records (table_name, record_id);

comment on table svc.audit_holds is 'The legal holds: entries that may be neither purged nor erased.';
comment on column svc.audit_holds.id is 'The hold''s number.';
comment on column svc.audit_holds.table_name is 'The table, with its schema: public.customer.';
comment on column svc.audit_holds.record_id is 'The key of the record; null holds all of the table.';
comment on column svc.audit_holds.reason is 'Why it is held.';
comment on column svc.audit_holds.held_at is 'Since when.';
comment on column svc.audit_holds.held_by is 'Who placed it: the actor, else the role.';
comment on column svc.audit_holds.lifted_at is 'When it was lifted; null while it holds.';
comment on column svc.audit_holds.lifted_by is 'Who lifted it: the actor, else the role.';
comment on column svc.audit_holds.lift_reason is 'Why it was lifted.';

comment on table svc.audit_held_records is
    'The records that a hold of a record keeps: itself, and those that refer to it by the rules of erasure.';
comment on column svc.audit_held_records.hold_id is 'The hold''s number.';
comment on column svc.audit_held_records.table_name is 'The table, with its schema: public.customer.';
comment on column svc.audit_held_records.record_id is 'The key of the record.';
comment on column svc.audit_held_records.followed_at is
    'Of the record that the hold names, when those that refer to it were last looked up.';

comment on table svc.maintenance is 'The tasks of maintenance that have run.';
comment on column svc.maintenance.task is 'maintenance as a whole, or of the audit log: its purge, or its sealing.';
comment on column svc.maintenance.succeeded_at is 'When it last succeeded.';
comment on column svc.maintenance.problem is 'Why it has failed since; null if it has not.';
