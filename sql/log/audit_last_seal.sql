-- The last seal whose leaves are compared, if there is one: seals of version 1 are kept, and no more.
-- access: writer, admin
create or replace function svc.audit_last_seal() returns setof svc.audit_seals
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select s.* from svc.audit_seals s where s.version = 2 order by s.number desc limit 1
$svc$;
revoke all on function svc.audit_last_seal() from public;
