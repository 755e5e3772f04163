-- What a purge of the entries before a moment removes: partitions that end before it as a whole, the oldest first, then
-- from the others so many entries. Which months a partition holds is asked of the catalog, never of its name.
create or replace function svc.audit_purge_plan(p_before timestamptz)
returns table (partition_oid oid, partition_name text, is_whole boolean, entries bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform pg_advisory_xact_lock(1937138032, 3);  -- partitions do not come and go meanwhile
    for partition_oid, partition_name, is_whole in
        select c.oid, c.oid::regclass::text, coalesce(svc.audit_partition_end(c.oid) <= p_before, false)
          from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = 'svc.audit_logs'::regclass
         order by svc.audit_partition_end(c.oid)
    loop
        entries := null;
        if not is_whole then
            execute format('select count(*) from only %s where "timestamp" < $1', partition_oid::regclass)
               into entries using p_before;
            continue when entries = 0;
        end if;
        return next;
    end loop;
end
$svc$;
revoke all on function svc.audit_purge_plan(timestamptz) from public;
