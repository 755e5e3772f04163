-- What the catalog said of each audited table and of its partitions when the log last knew their rows: a difference
-- tells of changes without an entry. A place is a server, an epoch of the log and a version: xmin, oids and
-- definitions mean something in one alone.
create table svc.audit_relations (
    table_name text collate "C" not null,
    relation oid not null,
    name text not null,
    is_part boolean not null,
    place text not null,
    facts jsonb not null,
    primary key (table_name, relation)
);
-- Such differences, from when somebody saw them until a backfill has recorded what the rows are now.
create table svc.audit_gaps (
    id bigint generated always as identity primary key,
    table_name text collate "C" not null,
    what text not null,
    name text not null,
    found_at timestamptz not null default clock_timestamp(),
    unique (table_name, what, name)
);

comment on table svc.audit_relations is
    'Internal: what the catalog said of audited tables and their partitions when the log last knew their rows.';
comment on column svc.audit_relations.table_name is 'The audited table, with its schema: public.customer.';
comment on column svc.audit_relations.relation is 'The oid of the table, or of one of its partitions.';
comment on column svc.audit_relations.name is 'Its name then.';
comment on column svc.audit_relations.is_part is 'Whether it is a partition.';
comment on column svc.audit_relations.place is
    'The epoch of the log, the server and its version in which the facts hold.';
comment on column svc.audit_relations.facts is 'The facts: its file, its triggers, its columns.';

comment on table svc.audit_gaps is
    'Internal: kinds of changes without an entry, as the catalog told them, until a backfill mends the log.';
comment on column svc.audit_gaps.id is 'The gap''s number.';
comment on column svc.audit_gaps.table_name is 'The audited table, with its schema: public.customer.';
comment on column svc.audit_gaps.what is
    'The kind: trigger, function, swapped, gone, attached, truncated, rewritten, expression or added.';
comment on column svc.audit_gaps.name is 'The trigger, the partition or the column.';
comment on column svc.audit_gaps.found_at is 'When it was found.';
