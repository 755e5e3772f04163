-- A snapshot with its keys alone, recorded of columns that the configuration may not know.
-- access: owner, writer, admin
create or replace function svc.audit_mask_all(p_snapshot jsonb) returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select coalesce(jsonb_object_agg(k, '[masked]'), '{}') from jsonb_object_keys(p_snapshot) k
$svc$;
