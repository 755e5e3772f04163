-- Whether nothing in the database is of this tenant: no endpoint, message, session, link or token. Of null it is not.
-- access: admin
create or replace function svc.console_is_new_tenant(p_tenant text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select p_tenant is not null
       and not exists (select from svc.tenants t where t.id = p_tenant)
       and not exists (select from svc.webhook_endpoints e where e.tenant = p_tenant)
       and not exists (select from svc.webhook_messages m where m.tenant = p_tenant)
       and not exists (select from svc.console_tokens t where t.tenant = p_tenant)
       and not exists (select from svc.console_sessions s where s.tenant = p_tenant)
       and not exists (select from svc.console_portal_links l where l.tenant = p_tenant)
$svc$;
revoke all on function svc.console_is_new_tenant(text) from public;
