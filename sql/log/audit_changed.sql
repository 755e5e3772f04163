-- The keys whose values differ between two snapshots, in order. 1.0 and 1.00 differ, as texts.
-- access: owner, writer, admin
create or replace function svc.audit_changed(p_before jsonb, p_after jsonb) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select array_agg(coalesce(b.key, a.key) order by coalesce(b.key, a.key) collate "C")
      from jsonb_each(p_before) b full join jsonb_each(p_after) a on a.key = b.key
     where a.value::text is distinct from b.value::text
$svc$;
