-- The time before which all entries of a partition of the log lie; null for the default partition and other tables.
-- access: writer, admin
create or replace function svc.audit_partition_end(p_partition oid) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC'
set "DateStyle" = 'ISO, YMD'
as $svc$
    select substring(pg_get_expr(c.relpartbound, c.oid) from $re$ TO \('([^']+)'\)$$re$)::timestamptz
      from pg_class c join pg_inherits i on i.inhrelid = c.oid
     where c.oid = p_partition and i.inhparent = 'svc.audit_logs'::regclass
$svc$;
