-- The name of the partition that held the row of an entry, or that a TRUNCATE emptied alone: its oid in table_oid ends
-- with the partition, and with the server.
alter table svc.audit_logs add partition text collate "C";
comment on column svc.audit_logs.partition is
    'The partition that held the row, or that a TRUNCATE emptied alone: public.orders_2026_01. Null of other tables.';
