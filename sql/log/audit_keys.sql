-- The keys of a snapshot.
-- access: owner, writer, admin
create or replace function svc.audit_keys(p_snapshot jsonb) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select array(select jsonb_object_keys(p_snapshot))
$svc$;
