-- A tenant that is no longer in svc.tenants lets nobody in, however it was removed.
-- access: trigger
create or replace function svc.console_tenant_gone() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if tg_op = 'TRUNCATE' then
        perform svc.end_tenant_access(t.id) from svc.tenants t;
    else
        perform svc.end_tenant_access(old.id);
    end if;
    return null;
end
$svc$;
revoke all on function svc.console_tenant_gone() from public;
