-- Entries of which a snapshot has the members of one of these objects, at most so many, in no order: found by the
-- index for searches by members, which has to be there. A condition on time would let the planner read by that.
-- access: writer, reader, admin
create or replace function svc.audit_entries_naming(p_members jsonb[], p_most integer)
returns setof svc.audit_logs
language plpgsql stable rows 1000
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_bitmapscan = on
set jit = off
as $svc$
begin
    return query
    select l.* from svc.audit_logs l
     where l.before_data @> any (p_members) or l.after_data @> any (p_members)
     limit p_most;
end
$svc$;
