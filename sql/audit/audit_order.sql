-- The positions of entries that one transaction wrote about one record, in the order of change; null if the images do
-- not follow each other, because one between them is missing. An UPDATE that moved another record to this key is this
-- record's beginning, and one that moved it away its end, though an entry of the other; these are looked for, within a
-- day, only if the images do not follow each other without.
create or replace function svc.audit_order(
    p_table text, p_record text, p_ids bigint[], p_timestamps timestamptz[], p_transaction bigint
) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_key text[];
    v_ids bigint[];
    v_before text[];
    v_after text[];
    v_start text;
    v_walk integer[];
    v_first constant timestamptz := p_timestamps[1];
    v_last constant timestamptz := p_timestamps[cardinality(p_timestamps)];
begin
    select array_agg(a.attname::text order by k.position) into v_key
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_index i on i.indrelid = c.oid and i.indisprimary
     cross join unnest(i.indkey::smallint[]) with ordinality k(attnum, position)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
     where k.position <= i.indnkeyatts and n.nspname || '.' || c.relname = p_table;
    for v_moves in 0..1 loop
        with entry as (
            select l.id, l."timestamp", l.record_id, l.operation, l.before_data, l.after_data
              from svc.audit_logs l
             where l.table_name = p_table and l.record_id = p_record and l.xact_id = p_transaction
               and l."timestamp" >= v_first and l."timestamp" <= v_last
            union all
            select l.id, l."timestamp", l.record_id, l.operation, l.before_data, null
              from svc.audit_logs l
             where v_moves = 1 and l.table_name = p_table and l.record_id <> p_record and l.operation = 'UPDATE'
               and l.xact_id = p_transaction
               and l."timestamp" >= v_first - interval '1 day' and l."timestamp" <= v_last + interval '1 day'
               and svc.audit_key(l.before_data, v_key) = p_record
        ),
        half as (
            select e.id, e."timestamp",
                   case when e.operation = 'DELETE' then e.before_data
                        when e.operation = 'UPDATE' and (svc.audit_key(e.before_data, v_key) = p_record or
                            svc.audit_key(e.after_data, v_key) is distinct from e.record_id) then e.before_data
                   end as before,
                   case when e.operation <> 'DELETE' then e.after_data end as after
              from entry e
        )
        select array_agg(h.id order by h."timestamp", h.id),
               array_agg(coalesce(h.before::text, '') order by h."timestamp", h.id),
               array_agg(coalesce(h.after::text, '') order by h."timestamp", h.id)
          into v_ids, v_before, v_after
          from half h;
        if cardinality(svc.audit_ends(v_before, v_after)) = 0 then
            v_start := svc.audit_state_before(p_table, p_record, v_first, p_ids[1]);
            if v_start <> all (v_before) then
                v_start := ''; -- it was moved to another key
            end if;
        end if;
        v_walk := svc.audit_walk(v_before, v_after, v_start);
        exit when v_walk is not null or v_key is null;
    end loop;
    return (
        select array_agg(e.position::integer order by w.position)
          from unnest(v_walk) with ordinality w(n, position)
          join unnest(p_ids) with ordinality e(id, position) on e.id = v_ids[w.n]
    );
end
$svc$;
