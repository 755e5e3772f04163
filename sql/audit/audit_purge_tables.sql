-- The tables with entries in a partition of the log, in order. Entries from before a table's time may go: its own, if
-- it is listed, or p_before; null is never. has_old: some may go; is_old: all may. A hold keeps what it names: kept
-- has the holds that keep entries which would go.
create or replace function svc.audit_purge_tables(
    p_partition oid, p_before timestamptz, p_tables text[], p_befores timestamptz[]
)
returns table (table_name text, before timestamptz, has_old boolean, is_old boolean, kept text[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off  -- the planner hopes for a row that is not there
as $svc$
begin
    -- from one table to the next by the index: there are few of them
    for table_name, before, has_old, is_old, kept in execute format(
        'with recursive found (name) as ('
        ' select min(l.table_name) from only %1$s l'
        ' union all'
        ' select (select min(l.table_name) from only %1$s l where l.table_name > f.name)'
        '   from found f where f.name is not null'
        ')'
        'select f.name, b.before, not coalesce(h.is_all, false) and exists ('
        '           select from only %1$s l where l.table_name = f.name and l."timestamp" < b.before),'
        '       h.kept is null and b.before is not null and not exists ('
        '           select from only %1$s l where l.table_name = f.name and l."timestamp" >= b.before),'
        '       coalesce(h.kept, ''{}'')'
        '  from found f'
        ' cross join lateral ('
        '    select case when f.name = any ($2) then $3[array_position($2, f.name)] else $1 end'
        ' ) b(before)'
        ' cross join lateral ('
        '    select array_agg(concat_ws('' '', h.table_name, h.record_id) order by h.record_id),'
        '           bool_or(h.record_id is null)'
        '      from svc.audit_holds h'
        '     where h.lifted_at is null and h.table_name = f.name and ('
        '           h.record_id is null and exists ('
        '               select from only %1$s l where l.table_name = f.name and l."timestamp" < b.before)'
        '           or exists (select from only %1$s l where l.table_name = f.name'
        '                         and l.record_id = h.record_id and l."timestamp" < b.before)'
        '           or exists (select from only %1$s l where l.table_name = f.name'
        '                         and l.moved_from = h.record_id and l."timestamp" < b.before))'
        ' ) h(kept, is_all)'
        ' where f.name is not null'
        ' order by f.name',
        p_partition::regclass
    ) using p_before, p_tables, p_befores
    loop
        return next;
    end loop;
end
$svc$;
revoke all on function svc.audit_purge_tables(oid, timestamptz, text[], timestamptz[]) from public;
