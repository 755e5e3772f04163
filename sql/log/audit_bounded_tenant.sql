-- The id of a tenant as entries name it: of more than 2048 bytes, which no API takes, the same as of an actor's.
-- access: owner, writer, reader, admin
create or replace function svc.audit_bounded_tenant(p_id text) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when octet_length(p_id) <= 2048 then p_id else svc.audit_bounded(p_id) end
$svc$;
revoke all on function svc.audit_bounded_tenant(text) from public;
