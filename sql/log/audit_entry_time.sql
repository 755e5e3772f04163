-- The time of the entry with an id, by which its key finds it; null if there is none. The BRIN index finds it,
-- whatever the statistics say.
-- access: writer, reader, admin
create or replace function svc.audit_entry_time(p_id bigint) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $svc$
begin
    return (select l."timestamp" from svc.audit_logs l where l.id = p_id limit 1);
end
$svc$;
