-- DDL on audited tables: an entry of its own kind, about the table and about no row of it.
alter type svc.audit_operation add value 'DDL';

comment on column svc.audit_logs.operation is
    'INSERT, UPDATE, DELETE, TRUNCATE; SNAPSHOT of a row that was there before capture, or differed from its last '
    'image, which is then the one before; GONE of a record that only the log had; or DDL, whose images have what '
    'changed of the table itself.';

-- The form of each audited table and partition after the last DDL: the difference is what a statement changed.
create table svc.audit_shapes (
    relation oid primary key,
    epoch text not null,
    table_name text collate "C" not null,
    root oid not null,
    seen text not null,
    columns jsonb not null,
    facts jsonb not null
);
create index audit_shapes_table_name_idx on svc.audit_shapes (table_name);
create index audit_shapes_root_idx on svc.audit_shapes (root);

comment on table svc.audit_shapes is
    'Internal: the form of audited tables and their partitions, with which DDL is compared.';
comment on column svc.audit_shapes.relation is 'The oid of the table, or of one of its partitions.';
comment on column svc.audit_shapes.epoch is 'The epoch of the log in which the oid means something.';
comment on column svc.audit_shapes.table_name is 'The audited table, as entries name it.';
comment on column svc.audit_shapes.root is 'The oid of the audited table: relation itself, unless it is a partition.';
comment on column svc.audit_shapes.seen is 'Its name, owner and rights, as the catalog has them.';
comment on column svc.audit_shapes.columns is 'The names of its columns, by their numbers.';
comment on column svc.audit_shapes.facts is 'Its name, owner, columns, triggers and rights, as entries have them.';
