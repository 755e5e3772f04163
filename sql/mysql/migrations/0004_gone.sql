-- The end of a record that a comparison found: the log had it and the table did not, and nobody knows since when.
alter table svc.audit_logs
    modify operation enum('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT', 'GONE') not null;
