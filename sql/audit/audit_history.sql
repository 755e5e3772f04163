-- The entries of one record in the order of change, and those that moved it to another key. Each gets the place of
-- another in the log: the first of a transaction's entries in that order gets the place of the first one written, and
-- so on. Between transactions the log is in order. Of the transactions between two times, all entries come, also those
-- from before or after.
-- access: writer, reader, admin
create or replace function svc.audit_history(
    p_table text, p_record text, p_from timestamptz default null, p_to timestamptz default null
)
returns table (
    entry_id bigint, entry_timestamp timestamptz, place_id bigint, place_timestamp timestamptz, is_chained boolean
)
language plpgsql stable rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
set enable_sort = off  -- the index has the order; a plan that is kept expects few entries, and would sort very many
as $svc$
declare
    v_last constant bigint := 9223372036854775807; -- after every id
    v_from record; -- the last event of the transaction before, and the first of the one after
    v_to record;
    v_entry record;
    v_order integer[];
begin
    select b.* into v_from
      from svc.audit_next_event(p_table, p_record, p_from, 0) a
     cross join lateral svc.audit_previous_event(p_table, p_record, p_from, 0, a.xact_id) b;
    select b.* into v_to
      from svc.audit_previous_event(p_table, p_record, p_to, v_last) a
     cross join lateral svc.audit_next_event(p_table, p_record, p_to, v_last, a.xact_id) b;
    for v_entry in
        with entry as (
            select e.id, e."timestamp", e.xact_id, lag(e.id) over w as before_id,
                   lag(e."timestamp") over w as before_timestamp, lag(e.xact_id) over w as before_xact_id
              from (
                (select l.id, l."timestamp", l.xact_id from svc.audit_logs l
                  where l.table_name = p_table and l.record_id = p_record
                    and l."timestamp" >= coalesce(v_from."timestamp", '-infinity')
                    and l."timestamp" <= coalesce(v_to."timestamp", 'infinity')
                  order by l."timestamp", l.id)
                union all
                (select l.id, l."timestamp", l.xact_id from svc.audit_logs l
                  where l.table_name = p_table and l.moved_from = p_record
                    and l."timestamp" >= coalesce(v_from."timestamp", '-infinity')
                    and l."timestamp" <= coalesce(v_to."timestamp", 'infinity')
                  order by l."timestamp", l.id)
              ) e
             where (v_from.id is null or (e."timestamp", e.id) > (v_from."timestamp", v_from.id))
               and (v_to.id is null or (e."timestamp", e.id) < (v_to."timestamp", v_to.id))
            window w as (order by e."timestamp", e.id)
        ),
        -- a TRUNCATE parts a transaction: it waits for no trigger, so what was written before it came before
        parted as (
            select e.*, count(*) filter (where e.xact_id is distinct from e.before_xact_id or exists (
                       select from svc.audit_logs t
                        where t.table_name = p_table and t.record_id is null and t.operation = 'TRUNCATE'
                          and t."timestamp" between e.before_timestamp and e."timestamp"
                          and t.id between e.before_id and e.id
                   )) over (order by e."timestamp", e.id) as segment
              from entry e
        )
        select array_agg(p.id order by p."timestamp", p.id) as ids,
               array_agg(p."timestamp" order by p."timestamp", p.id) as timestamps, min(p.xact_id) as xact_id
          from parted p group by p.segment order by p.segment
    loop
        v_order := case when cardinality(v_entry.ids) > 1 then
            svc.audit_order(p_table, p_record, v_entry.ids, v_entry.timestamps, v_entry.xact_id) end;
        for v_place in 1..cardinality(v_entry.ids) loop
            place_id := v_entry.ids[v_place];
            place_timestamp := v_entry.timestamps[v_place];
            entry_id := v_entry.ids[coalesce(v_order[v_place], v_place)];
            entry_timestamp := v_entry.timestamps[coalesce(v_order[v_place], v_place)];
            is_chained := v_order is not null or cardinality(v_entry.ids) = 1;
            return next;
        end loop;
    end loop;
end
$svc$;
