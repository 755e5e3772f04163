-- The positions of entries that one transaction wrote about one record, in the order of change; null if the images do
-- not follow each other, because one between them is missing. An UPDATE that moved another record to this key is this
-- record's beginning, and one that moved it away its end, though an entry of the other.
-- access: writer, reader, admin
create or replace function svc.audit_order(
    p_table text, p_record text, p_ids bigint[], p_timestamps timestamptz[], p_transaction bigint
) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
as $svc$
declare
    v_count constant integer := cardinality(p_ids);
    v_before text[];
    v_after text[];
    v_seen_before text[]; -- without what the table ignores
    v_seen_after text[];
    v_is_closed boolean;
    v_start text;
    v_walk integer[];
    v_whole integer[];
    v_omissions svc.audit_omissions;
begin
    select array_agg(coalesce(e.before_data::text, '') order by e."timestamp", e.id),
           array_agg(coalesce(e.after_data::text, '') order by e."timestamp", e.id)
      into v_before, v_after
      from svc.audit_events(p_table, p_record) e
     where e.xact_id = p_transaction
       and e."timestamp" between p_timestamps[1] and p_timestamps[cardinality(p_timestamps)]
       and e.id = any (p_ids);
    select * into v_omissions from svc.audit_omissions o
     where o.table_name = p_table and o.since <= p_timestamps[v_count];
    v_seen_before := v_before;
    v_seen_after := v_after;
    if v_omissions.table_name is not null then
        for n in 1..v_count loop
            v_seen_before[n] := svc.audit_without_ignored(v_before[n], v_omissions.ignored);
            v_seen_after[n] := svc.audit_without_ignored(v_after[n], v_omissions.ignored);
        end loop;
    end if;
    v_is_closed := cardinality(svc.audit_walk_ends(v_seen_before, v_seen_after)) = 0;
    if v_is_closed then
        v_start := svc.audit_state_before(p_table, p_record, p_timestamps[1], p_ids[1]);
    end if;
    if v_omissions.table_name is null then
        return svc.audit_walk(v_before, v_after, v_start);
    elsif v_is_closed and v_start is null then
        return null;
    elsif v_omissions.is_conditional then
        -- a walk in another order than that of capture may go around a change that was left out
        return case when v_seen_after[1:v_count - 1] = v_seen_before[2:v_count]
                     and (not v_is_closed or v_seen_before[1] = v_start)
                    then array(select generate_series(1, v_count)) end;
    end if;
    v_walk := svc.audit_walk(v_seen_before, v_seen_after, v_start);
    if v_walk = array(select generate_series(1, v_count)) then
        return v_walk; -- the order of capture: a walk in another one may go around what was ignored in between
    end if;
    -- Ignored columns may differ from one image to the next. They tell equal images apart, but only the other columns
    -- tell where a walk begins.
    v_whole := svc.audit_walk(v_before, v_after, null);
    return case when v_seen_before[v_whole[1]] = v_seen_before[v_walk[1]] then v_whole else v_walk end;
end
$svc$;
