-- The positions of entries that one transaction wrote about one record, in the order of change; null if the images do
-- not follow each other, because one between them is missing. An UPDATE that moved another record to this key is this
-- record's beginning, and one that moved it away its end, though an entry of the other.
create or replace function svc.audit_order(
    p_table text, p_record text, p_ids bigint[], p_timestamps timestamptz[], p_transaction bigint
) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_before text[];
    v_after text[];
    v_start text;
begin
    select array_agg(coalesce(e.before_data::text, '') order by e."timestamp", e.id),
           array_agg(coalesce(e.after_data::text, '') order by e."timestamp", e.id)
      into v_before, v_after
      from svc.audit_events(p_table, p_record) e
     where e.xact_id = p_transaction
       and e."timestamp" between p_timestamps[1] and p_timestamps[cardinality(p_timestamps)]
       and e.id = any (p_ids);
    if cardinality(svc.audit_ends(v_before, v_after)) = 0 then
        v_start := svc.audit_state_before(p_table, p_record, p_timestamps[1], p_ids[1]);
    end if;
    return svc.audit_walk(v_before, v_after, v_start);
end
$svc$;
