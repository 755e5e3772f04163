-- Turn a verified link into a session, once. The outcome is claimed, not_verified, already_claimed, expired, locked or
-- unknown_session: this device has no such link, or its address (p_permission is null) may not sign in any more.
-- access: admin
create or replace function svc.console_claim(
    p_session_id uuid, p_device_hash bytea, p_token_hash bytea, p_permission text, p_expires_at timestamptz,
    p_idle_timeout interval, p_ip inet, p_user_agent text
) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_link svc.console_magic_links;
    v_state text;
begin
    select * into v_link from svc.console_magic_links l
     where l.session_id = p_session_id and l.device_hash = p_device_hash for update;
    if not found then
        return 'unknown_session';
    end if;
    v_state := svc.console_link_state(v_link, clock_timestamp());
    if v_state <> 'verified' then
        return case v_state when 'pending' then 'not_verified' when 'claimed' then 'already_claimed' else v_state end;
    end if;
    if p_permission is null then
        return 'unknown_session';
    end if;
    update svc.console_magic_links l set status = 'claimed', claimed_at = clock_timestamp()
     where l.session_id = p_session_id;
    insert into svc.console_sessions (id, email, permission, token_hash, ip, user_agent, expires_at, idle_timeout)
    values (p_session_id, v_link.email, p_permission, p_token_hash, p_ip, p_user_agent, p_expires_at, p_idle_timeout);
    insert into svc.console_events (event, session_id, email, ip, user_agent)
    values ('signed_in', p_session_id, v_link.email, p_ip, p_user_agent);
    return 'claimed';
end
$svc$;
revoke all on function svc.console_claim(uuid, bytea, bytea, text, timestamptz, interval, inet, text) from public;
