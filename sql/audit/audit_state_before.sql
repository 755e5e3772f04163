-- The image of a record before one of its entries, as its earlier entries tell, without the columns that the table
-- ignores; '' if there was no such record, and null if they do not tell.
-- access: writer, reader, admin
create or replace function svc.audit_state_before(
    p_table text, p_record text, p_timestamp timestamptz, p_id bigint
) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
as $svc$
declare
    v_truncated bigint;
    v_transaction bigint;
    v_before text[];
    v_after text[];
    v_ends text[];
    v_entry record;
    v_omissions svc.audit_omissions;
begin
    select * into v_omissions from svc.audit_omissions o where o.table_name = p_table;
    -- the last one of the table, or of the partition that held the record
    select t.id into v_truncated from svc.audit_logs t
     where t.table_name = p_table and t.record_id is null and t.operation = 'TRUNCATE'
       and t."timestamp" <= p_timestamp and t.id < p_id
       and (t.partition is null or (
               select l.table_oid = t.table_oid or l.partition = t.partition from svc.audit_logs l
                where l.table_name = p_table and l.record_id = p_record
                  and l."timestamp" <= t."timestamp" and (l."timestamp", l.id) < (t."timestamp", t.id)
                order by l."timestamp" desc, l.id desc limit 1
           ))
     order by t."timestamp" desc, t.id desc limit 1;
    for v_entry in
        select e.id, e.xact_id, coalesce(e.before_data::text, '') as before, coalesce(e.after_data::text, '') as after
          from (
            (select l.id, l."timestamp", l.xact_id,
                    case when l.operation in ('UPDATE', 'DELETE', 'SNAPSHOT') and l.moved_from is null
                         then l.before_data end as before_data,
                    case when l.operation <> 'DELETE' then l.after_data end as after_data
               from svc.audit_logs l
              where l.table_name = p_table and l.record_id = p_record
                and l."timestamp" <= p_timestamp and (l."timestamp", l.id) < (p_timestamp, p_id)
              order by l."timestamp" desc, l.id desc)
            union all
            (select l.id, l."timestamp", l.xact_id, l.before_data, null
               from svc.audit_logs l
              where l.table_name = p_table and l.moved_from = p_record
                and l."timestamp" <= p_timestamp and (l."timestamp", l.id) < (p_timestamp, p_id)
              order by l."timestamp" desc, l.id desc)
          ) e
         order by e."timestamp" desc, e.id desc
    loop
        if v_entry.xact_id is distinct from v_transaction or v_entry.id < v_truncated then
            exit when cardinality(svc.audit_walk_ends(v_before, v_after)) > 0;
            v_transaction := v_entry.xact_id;
            v_before := '{}';
            v_after := '{}';
            exit when v_entry.id < v_truncated;
        end if;
        if v_omissions.ignored <> '{}' then
            v_entry.before := svc.audit_without_ignored(v_entry.before, v_omissions.ignored);
            v_entry.after := svc.audit_without_ignored(v_entry.after, v_omissions.ignored);
        end if;
        v_after := v_after || v_entry.after;
        exit when v_omissions.is_conditional; -- the entries of such a table are in the order of capture
        v_before := v_before || v_entry.before;
    end loop;
    v_ends := svc.audit_walk_ends(v_before, v_after);
    return case cardinality(v_ends) when 1 then v_ends[1] when 0 then case when v_truncated > 0 then '' end end;
end
$svc$;
