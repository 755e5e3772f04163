-- The positions of entries that one transaction wrote about one record, in the order of change; null if the images do
-- not follow each other, because one between them is missing. An UPDATE that moved another record to this key is this
-- record's beginning, and one that moved it away its end, though an entry of the other.
create or replace function svc.audit_order(
    p_table text, p_record text, p_ids bigint[], p_timestamps timestamptz[], p_transaction bigint
) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
as $svc$
declare
    v_count constant integer := cardinality(p_ids);
    v_captured constant integer[] := array(select generate_series(1, v_count));
    v_before text[];
    v_after text[];
    v_start text;
    v_walk integer[];
    v_omissions svc.audit_omissions;
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
    v_walk := svc.audit_walk(v_before, v_after, v_start);
    select * into v_omissions from svc.audit_omissions o
     where o.table_name = p_table and o.since <= p_timestamps[v_count];
    if not found then
        return v_walk;
    end if;
    -- An image differs from the one before by what was ignored in between, or by what a condition left out: then a
    -- walk in another order than that of capture would be a guess.
    for n in 1..v_count loop
        v_before[n] := svc.audit_noticed(v_before[n], v_omissions.ignored);
        v_after[n] := svc.audit_noticed(v_after[n], v_omissions.ignored);
    end loop;
    if v_after[1:v_count - 1] = v_before[2:v_count] then
        return case when v_omissions.is_conditional or v_walk is null or v_walk = v_captured then v_captured end;
    elsif v_omissions.is_conditional then
        return null;
    end if;
    return coalesce(v_walk, svc.audit_walk(v_before, v_after, svc.audit_noticed(v_start, v_omissions.ignored)));
end
$svc$;
