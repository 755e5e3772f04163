-- The end of a record that a comparison found: the log had it and the table did not, and nobody knows since when.
alter type svc.audit_operation add value 'GONE';

comment on column svc.audit_logs.operation is
    'INSERT, UPDATE, DELETE, TRUNCATE; SNAPSHOT of a row that was there before capture, or differed from its last '
    'image, which is then the one before; or GONE of a record that only the log had.';

-- Maintenance compares tables with the log on schedule, some of them in each of its runs.
alter table svc.maintenance
    drop constraint maintenance_task_check,
    add constraint maintenance_task_check check (task in ('maintenance', 'purge', 'sealing', 'reconciliation')),
    add column position text,
    add column findings text;

comment on column svc.maintenance.task is
    'maintenance as a whole, or of the audit log: its purge, its sealing, or its reconciliation with the tables.';
comment on column svc.maintenance.position is
    'From where a reconciliation under way goes on; null if it is at its end.';
comment on column svc.maintenance.findings is
    'The tables that a reconciliation, under way or else the last, found to differ or could not compare.';
