-- The entries that show a person: those of the record itself, and those of which an image has its key in the columns
-- that svc.audit_erasure names; then those that so refer to the records found, and so on. An entry that shows no such
-- column goes with its record. Records of an entry erased earlier for this person count too. Last come the entries of
-- lifted holds of these records, since they have the key and the reason; without an entry if that is purged.
create or replace function svc.audit_erasable(p_table text, p_record text)
returns table (
    table_name text, record_id text, moved_from text, entry_id bigint, entry_timestamp timestamptz, is_erased boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off  -- entries are found by their key, one by one
set enable_mergejoin = off
as $svc$
#variable_conflict use_column
declare
    v_keys constant text[] := array[p_record, svc.audit_erased_key(p_record)];
    v_erasures constant text[] := array(
        select l.id::text from svc.audit_logs l
         where l.table_name = 'svc.audit_logs' and l.label = 'audit log erased'
           and l.before_data ->> 'table' = p_table and l.before_data ->> 'record' = any (v_keys)
    );
    v_records jsonb := jsonb_build_object(p_table, v_keys); -- of each table
    v_table record;
    v_reference record;
    v_parents text[];
    v_column text;
    v_more record;
    v_ids bigint[];
    v_timestamps timestamptz[];
    v_found text[];
begin
    return query
    select l.table_name::text, l.record_id::text, l.moved_from::text, l.id, l."timestamp", l.erased_leaf is not null
      from svc.audit_logs l
     where l.table_name = p_table and (l.record_id = any (v_keys) or l.moved_from = any (v_keys));
    -- a table comes after all to which it refers
    for v_table in
        with recursive deeper (name, depth) as (
            select p_table, 0
            union all
            select r.table_name, d.depth + 1 from deeper d join svc.audit_erasure() r on r.of_table = d.name
        )
        select d.name from deeper d where d.depth > 0 group by d.name order by max(d.depth), d.name
    loop
        v_ids := '{}';
        v_timestamps := '{}';
        for v_reference in
            select r.of_table, r.columns from svc.audit_erasure() r
             where r.table_name = v_table.name and v_records ? r.of_table
        loop
            v_parents := array(select jsonb_array_elements_text(v_records -> v_reference.of_table));
            v_column := v_reference.columns[1];
            if cardinality(v_reference.columns) = 1 then
                select array_agg(l.id) as ids, array_agg(l."timestamp") as timestamps into v_more
                  from svc.audit_logs l
                 where l.table_name = v_table.name
                   and (l.before_data ->> v_column = any (v_parents) or l.after_data ->> v_column = any (v_parents));
            else
                select array_agg(l.id) as ids, array_agg(l."timestamp") as timestamps into v_more
                  from svc.audit_logs l
                 where l.table_name = v_table.name
                   and (svc.audit_key_of(l.before_data, v_reference.columns) = any (v_parents)
                        or svc.audit_key_of(l.after_data, v_reference.columns) = any (v_parents));
            end if;
            v_ids := v_ids || coalesce(v_more.ids, '{}');
            v_timestamps := v_timestamps || coalesce(v_more.timestamps, '{}');
        end loop;
        if v_erasures <> '{}' then
            select array_agg(l.id) as ids, array_agg(l."timestamp") as timestamps into v_more
              from svc.audit_logs l
             where l.table_name = v_table.name and l.erased_leaf is not null
               and l.context ->> 'erasure' = any (v_erasures);
            v_ids := v_ids || coalesce(v_more.ids, '{}');
            v_timestamps := v_timestamps || coalesce(v_more.timestamps, '{}');
        end if;
        v_found := array(
            select distinct key.id
              from unnest(v_ids, v_timestamps) e(id, at)
              join svc.audit_logs l on l."timestamp" = e.at and l.id = e.id
             cross join lateral (values (l.record_id), (l.moved_from)) key(id)
             where key.id is not null
        );
        v_records := v_records || jsonb_build_object(v_table.name, v_found);
        return query
        select l.table_name::text, l.record_id::text, l.moved_from::text, l.id, l."timestamp",
               l.erased_leaf is not null
          from (
            select u.id, u.at from unnest(v_ids, v_timestamps) u(id, at)
            union
            select o.id, o."timestamp"
              from svc.audit_logs o
             where o.table_name = v_table.name and o.erased_leaf is null
               and (o.record_id = any (v_found) or o.moved_from = any (v_found))
               and exists (
                   select from svc.audit_erasure() r
                    where r.table_name = v_table.name
                      and (o.redacted_fields = '{*}' or svc.audit_key_of(o.before_data, r.columns) is null
                                                    and svc.audit_key_of(o.after_data, r.columns) is null)
               )
          ) e
          join svc.audit_logs l on l."timestamp" = e.at and l.id = e.id;
    end loop;
    return query
    select 'svc.audit_holds', h.id::text, null::text, l.id, l."timestamp", l.id is null or l.erased_leaf is not null
      from svc.audit_holds h
      left join svc.audit_logs l on l.table_name = 'svc.audit_holds' and l.record_id = h.id::text
     where h.lifted_at is not null and v_records -> h.table_name ? h.record_id;
end
$svc$;
revoke all on function svc.audit_erasable(text, text) from public;
