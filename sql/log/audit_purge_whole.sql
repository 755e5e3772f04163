-- True if all entries of a partition of the log may go; see svc.audit_purge_tables.
-- access: writer, admin
create or replace function svc.audit_purge_whole(
    p_partition oid, p_before timestamptz, p_tables text[], p_befores timestamptz[]
) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select coalesce(
               svc.audit_partition_end(p_partition)
                   <= greatest(p_before, (select max(w.before) from unnest(p_befores) w(before))),
               false
           )
       and not exists (
               select from svc.audit_purge_tables(p_partition, p_before, p_tables, p_befores) t where not t.is_old
           )
$svc$;
revoke all on function svc.audit_purge_whole(oid, timestamptz, text[], timestamptz[]) from public;
