-- The entries that show a person: those of the record itself, and those of which an image has its key in the columns
-- that svc.audit_erasure names; then those that so refer to the records found, and so on. An entry that shows no such
-- column goes with its record. Records of an entry erased earlier for this person count too.
create or replace function svc.audit_erasable(p_table text, p_record text)
returns table (
    table_name text, record_id text, moved_from text, entry_id bigint, entry_timestamp timestamptz, is_erased boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
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
        v_found := array(
            select distinct key.id
              from svc.audit_logs l
             cross join lateral (values (l.record_id), (l.moved_from)) key(id)
             where l.table_name = v_table.name and key.id is not null
               and (l.context ->> 'erasure' = any (v_erasures) or exists (
                   select from svc.audit_erasure() r
                    where r.table_name = v_table.name
                      and (v_records -> r.of_table ? svc.audit_key_of(l.before_data, r.columns)
                           or v_records -> r.of_table ? svc.audit_key_of(l.after_data, r.columns))
               ))
        );
        v_records := v_records || jsonb_build_object(v_table.name, v_found);
        return query
        select l.table_name::text, l.record_id::text, l.moved_from::text, l.id, l."timestamp",
               l.erased_leaf is not null
          from svc.audit_logs l
         where l.table_name = v_table.name
           and (l.context ->> 'erasure' = any (v_erasures) or exists (
               select from svc.audit_erasure() r
              cross join lateral (
                   select svc.audit_key_of(l.before_data, r.columns) as before,
                          svc.audit_key_of(l.after_data, r.columns) as after
               ) key
                where r.table_name = v_table.name
                  and (v_records -> r.of_table ? key.before or v_records -> r.of_table ? key.after
                       or (key.before is null and key.after is null or l.redacted_fields = '{*}')
                           and l.erased_leaf is null
                           and (l.record_id = any (v_found) or l.moved_from = any (v_found)))
           ));
    end loop;
end
$svc$;
revoke all on function svc.audit_erasable(text, text) from public;
