-- The holds of records to which an entry of a table without a key refers by the rules of erasure.
-- access: writer, admin
create or replace function svc.audit_keyless_holds(p_table text, p_before jsonb, p_after jsonb) returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select h.hold_id
      from svc.audit_erasure() r
      join svc.audit_held_records h
        on h.table_name = r.of_table
       and h.record_id in (svc.audit_key_of(p_before, r.columns), svc.audit_key_of(p_after, r.columns))
     where r.table_name = p_table
$svc$;
revoke all on function svc.audit_keyless_holds(text, jsonb, jsonb) from public;
