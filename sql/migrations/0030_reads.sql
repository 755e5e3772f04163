-- Reads of the records of chosen tables: entries about who saw which records, under a name that no table has.
alter type svc.audit_operation add value 'READ';

comment on column svc.audit_logs.operation is
    'INSERT, UPDATE, DELETE, TRUNCATE; SNAPSHOT of a row that was there before capture, or differed from its last '
    'image, which is then the one before; GONE of a record that only the log had; DDL, whose images have what '
    'changed of the table itself; or READ, of table svc.audit_reads, whose record is the table that was read.';
