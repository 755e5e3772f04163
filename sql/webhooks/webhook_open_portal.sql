-- Turn a link to the portal, once, into a session that may write and sees one tenant alone. No row if there is no such
-- link, or it was opened before or revoked, or its time is over. Of two calls at once, one gets the session.
-- access: admin
create or replace function svc.webhook_open_portal(
    p_link_hash bytea, p_token_hash bytea, p_idle_timeout interval, p_ip inet, p_user_agent text
) returns table (session_id uuid, tenant text, expires_in integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_link svc.console_portal_links;
begin
    update svc.console_portal_links l set opened_at = now()
     where l.token_hash = p_link_hash and l.opened_at is null and l.revoked_at is null
       and l.expires_at > clock_timestamp()
    returning * into v_link;
    if not found then
        return;
    end if;
    insert into svc.console_sessions
        (id, email, permission, tenant, token_hash, ip, user_agent, expires_at, idle_timeout)
    values (v_link.id, 'portal:' || v_link.tenant, 'write', v_link.tenant, p_token_hash, p_ip, p_user_agent,
            now() + v_link.session_lifetime, p_idle_timeout);
    insert into svc.console_events (event, session_id, email, ip, user_agent)
    values ('portal_opened', v_link.id, 'portal:' || v_link.tenant, p_ip, p_user_agent);
    return query select v_link.id, v_link.tenant, extract(epoch from v_link.session_lifetime)::integer;
end
$svc$;
revoke all on function svc.webhook_open_portal(bytea, bytea, interval, inet, text) from public;
