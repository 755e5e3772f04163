-- Maintenance looks whether the triggers are right, so that it is known since when one was not.
alter table svc.maintenance
    drop constraint maintenance_task_check,
    add constraint maintenance_task_check
        check (task in ('maintenance', 'purge', 'sealing', 'reconciliation', 'capture'));

comment on column svc.maintenance.task is
    'maintenance as a whole, or of the audit log: its purge, its sealing, its reconciliation with the tables, or its '
    'capture, which succeeds if all triggers are right.';
comment on column svc.maintenance.position is
    'From where a reconciliation under way goes on, null if it is at its end; of capture what was found not right.';
comment on column svc.maintenance.findings is
    'The tables that a reconciliation, under way or else the last, found to differ or could not compare; of capture '
    'what is not right.';
