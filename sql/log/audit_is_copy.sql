-- True if a subscription of logical replication brings the entries of the log: another server writes it.
-- access: writer, admin
create or replace function svc.audit_is_copy() returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select exists (
        select from pg_subscription_rel s
         where s.srrelid = 'svc.audit_logs'::regclass
            or s.srrelid in (select i.inhrelid from pg_inherits i where i.inhparent = 'svc.audit_logs'::regclass)
    )
$svc$;
