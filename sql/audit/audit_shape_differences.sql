-- The parts in which two forms of a table differ, those of our triggers first.
-- access: trigger
create or replace function svc.audit_shape_differences(p_before jsonb, p_after jsonb)
returns table (part text, before text, after text, is_ours boolean)
language sql immutable
set search_path = pg_catalog, pg_temp
as $svc$
    select d.part, d.before, d.after, d.is_ours
      from (
        select coalesce(b.key, a.key), b.value, a.value, coalesce(b.key, a.key) ^@ 'trigger 00_svc_'
          from jsonb_each_text(coalesce(p_before, '{}')) b
          full join jsonb_each_text(coalesce(p_after, '{}')) a on a.key = b.key
         where b.value is distinct from a.value
      ) d(part, before, after, is_ours)
     order by d.is_ours desc, d.part
$svc$;
revoke all on function svc.audit_shape_differences(jsonb, jsonb) from public;
