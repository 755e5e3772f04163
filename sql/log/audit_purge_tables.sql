-- The tables with entries in a partition of the log, in order. Entries from before a table's time may go: its own, if
-- it is listed, or p_before; null is never. has_old: some may go; is_old: all may. A hold keeps its table, or its
-- record and what refers to it: kept has the holds that keep entries which would go.
-- access: writer, admin
create or replace function svc.audit_purge_tables(
    p_partition oid, p_before timestamptz, p_tables text[], p_befores timestamptz[]
)
returns table (table_name text, before timestamptz, has_old boolean, is_old boolean, kept text[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off  -- the planner hopes for a row that is not there
set jit = off
as $svc$
declare
    v_is_all boolean;
begin
    -- from one table to the next by the index: there are few of them
    for table_name, before, has_old, is_old in execute format(
        'with recursive found (name) as ('
        ' select min(l.table_name) from only %1$s l'
        ' union all'
        ' select (select min(l.table_name) from only %1$s l where l.table_name > f.name)'
        '   from found f where f.name is not null'
        ')'
        'select f.name, b.before,'
        '       exists (select from only %1$s l where l.table_name = f.name and l."timestamp" < b.before),'
        '       b.before is not null and not exists ('
        '           select from only %1$s l where l.table_name = f.name and l."timestamp" >= b.before)'
        '  from found f'
        ' cross join lateral ('
        '    select case when f.name = any ($2) then $3[array_position($2, f.name)] else $1 end'
        ' ) b(before)'
        ' where f.name is not null'
        ' order by f.name',
        p_partition::regclass
    ) using p_before, p_tables, p_befores
    loop
        kept := '{}';
        if has_old then
            execute format(
                'select coalesce(array_agg(concat_ws('' '', h.table_name, h.record_id)'
                '                          order by h.table_name, h.record_id), ''{}''),'
                '       coalesce(bool_or(h.record_id is null), false)'
                '  from svc.audit_holds h'
                ' where h.lifted_at is null and (h.table_name = $1 and h.record_id is null or h.id in ('
                '       select r.hold_id from svc.audit_held_records r'
                '        where r.table_name = $1 and exists (select from only %1$s l where l.table_name = $1'
                '                 and l.record_id = r.record_id and l."timestamp" < $2)'
                '       union all'
                '       select r.hold_id from svc.audit_held_records r'
                '        where r.table_name = $1 and exists (select from only %1$s l where l.table_name = $1'
                '                 and l.moved_from = r.record_id and l."timestamp" < $2)'
                '       union all'
                '       select k.id from only %1$s l'
                '        cross join lateral svc.audit_keyless_holds($1, l.before_data, l.after_data) k(id)'
                '        where l.table_name = $1 and l.record_id is null and l."timestamp" < $2'
                '          and exists (select from svc.audit_erasure() r where r.table_name = $1)'
                '       ))',
                p_partition::regclass
            ) into kept, v_is_all using table_name, before;
            has_old := not v_is_all;
            is_old := is_old and kept = '{}';
        end if;
        return next;
    end loop;
end
$svc$;
revoke all on function svc.audit_purge_tables(oid, timestamptz, text[], timestamptz[]) from public;
