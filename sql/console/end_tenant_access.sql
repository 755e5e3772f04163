-- End all that lets somebody in for one tenant: links to the portal, sessions, and the tokens of programs. By the
-- actor of the transaction, else by the database's user. Returns their number.
-- access: admin
create or replace function svc.end_tenant_access(tenant text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_ended integer;
    v_tokens integer;
begin
    -- a link that is being opened is a session when it can be changed, and both have one id
    perform svc.console_revoke(l.id) from svc.console_portal_links l
      where l.tenant = end_tenant_access.tenant and l.opened_at is null and l.revoked_at is null
        and l.expires_at > now();
    get diagnostics v_ended = row_count;
    perform svc.console_revoke(s.id) from svc.console_sessions s
      where s.tenant = end_tenant_access.tenant and s.revoked_at is null and s.expires_at > now();
    get diagnostics v_tokens = row_count;
    v_ended := v_ended + v_tokens;
    perform svc.console_revoke_token(t.id) from svc.console_tokens t
      where t.tenant = end_tenant_access.tenant and t.revoked_at is null;
    get diagnostics v_tokens = row_count;
    return v_ended + v_tokens;
end
$svc$;
revoke all on function svc.end_tenant_access(text) from public;
comment on function svc.end_tenant_access(text) is
    'Ends the links to the portal, sessions and tokens of a tenant; returns their number. Call it in the transaction '
    'that deletes a tenant from a table of yours. A deletion from svc.tenants does it itself.';
