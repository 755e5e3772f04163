-- The entries of one record in the order of change. Each gets the place of another in the log: the first of a
-- transaction's entries in that order gets the place of the first one written, and so on. Between transactions the log
-- is in order. Of the transactions between two times, all entries come, also those from before or after.
create or replace function svc.audit_history(
    p_table text, p_record text, p_from timestamptz default null, p_to timestamptz default null
)
returns table (
    entry_id bigint, entry_timestamp timestamptz, place_id bigint, place_timestamp timestamptz, is_chained boolean
)
language plpgsql stable rows 100
set search_path = pg_catalog, pg_temp
set enable_sort = off  -- the index has the order; a plan that is kept expects few entries, and would sort very many
as $svc$
declare
    v_from record; -- the last entry of the transaction before, and the first of the one after
    v_to record;
    v_entry record;
    v_order integer[];
begin
    select l."timestamp", l.id into v_from from svc.audit_logs l
     where l.table_name = p_table and l.record_id = p_record and l."timestamp" < p_from
       and l.xact_id <> (
           select f.xact_id from svc.audit_logs f
            where f.table_name = p_table and f.record_id = p_record and f."timestamp" >= p_from
            order by f."timestamp", f.id limit 1
       )
     order by l."timestamp" desc, l.id desc limit 1;
    select l."timestamp", l.id into v_to from svc.audit_logs l
     where l.table_name = p_table and l.record_id = p_record and l."timestamp" > p_to
       and l.xact_id <> (
           select f.xact_id from svc.audit_logs f
            where f.table_name = p_table and f.record_id = p_record and f."timestamp" <= p_to
            order by f."timestamp" desc, f.id desc limit 1
       )
     order by l."timestamp", l.id limit 1;
    for v_entry in
        with entry as (
            select l.id, l."timestamp", l.xact_id, lag(l.id) over w as before_id,
                   lag(l."timestamp") over w as before_timestamp, lag(l.xact_id) over w as before_xact_id
              from svc.audit_logs l
             where l.table_name = p_table and l.record_id = p_record
               and l."timestamp" >= coalesce(v_from."timestamp", '-infinity')
               and l."timestamp" <= coalesce(v_to."timestamp", 'infinity')
               and (v_from.id is null or (l."timestamp", l.id) > (v_from."timestamp", v_from.id))
               and (v_to.id is null or (l."timestamp", l.id) < (v_to."timestamp", v_to.id))
            window w as (order by l."timestamp", l.id)
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
