-- Refuse the erasure of a record if one of these entries is held, under its table's name or that of the search.
-- access: writer, admin
create or replace function svc.audit_refuse_held(
    p_table text, p_record text, p_ids bigint[], p_timestamps timestamptz[], p_known_as text[]
) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off  -- entries are found by their key, one by one
set enable_mergejoin = off
set jit = off
as $svc$
declare
    v_held constant text := (
        with entry as materialized (
            select l.table_name, e.known_as, l.record_id, l.moved_from, l.before_data, l.after_data
              from unnest(p_ids, p_timestamps, p_known_as) e(id, at, known_as)
              join svc.audit_logs l on l."timestamp" = e.at and l.id = e.id
        ),
        hold (id) as (
            select r.hold_id
              from entry e
              join svc.audit_held_records r
                on r.table_name = e.table_name and r.record_id in (e.record_id, e.moved_from)
            union
            select k.id
              from entry e cross join lateral svc.audit_keyless_holds(e.table_name, e.before_data, e.after_data) k(id)
             where e.record_id is null
            union
            select h.id
              from (select e.table_name as name from entry e union select e.known_as from entry e) t
              join svc.audit_holds h on h.table_name = t.name
             where h.lifted_at is null and h.record_id is null
        )
        select string_agg(concat_ws(' ', h.table_name, h.record_id), ', ' order by h.table_name, h.record_id)
          from hold join svc.audit_holds h on h.id = hold.id
    );
begin
    if v_held is not null then
        raise exception 'record % of "%" cannot be erased, because of holds: %', p_record, p_table, v_held
            using errcode = 'SV004', hint = 'Nothing is erased. svc-pg hold list tells who holds it, and why.';
    end if;
end
$svc$;
revoke all on function svc.audit_refuse_held(text, text, bigint[], timestamptz[], text[]) from public;
