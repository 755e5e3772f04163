-- Refuse a link or a token for a tenant that is not among those of svc.tenants, if there are any. The tenant cannot be
-- deleted before the transaction ends, which would not see what this one makes.
-- access: admin
create or replace function svc.console_check_tenant(p_tenant text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform from svc.tenants t where t.id = p_tenant for key share;
    if not found and exists (select from svc.tenants) then
        raise exception 'no tenant has the id %', p_tenant using errcode = 'SV104',
            hint = 'Check its spelling, or add it to svc.tenants first.';
    end if;
end
$svc$;
revoke all on function svc.console_check_tenant(text) from public;
