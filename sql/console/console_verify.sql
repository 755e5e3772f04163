-- Try a code, given as its hash under each key. The outcome is verified, invalid_code, already_verified, expired,
-- locked, rate_limited or, if this device has no such link, unknown_session, which counts nothing. One at a time for
-- each link.
-- access: admin
create or replace function svc.console_verify(
    p_session_id uuid, p_device_hash bytea, p_code_hashes bytea[], p_ip inet, p_user_agent text,
    out outcome text, out attempts_remaining integer, out retry_after integer
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_link svc.console_magic_links;
    v_event text;
begin
    select * into v_link from svc.console_magic_links l
     where l.session_id = p_session_id and l.device_hash = p_device_hash for update;
    if not found then
        outcome := 'unknown_session';
        return;
    end if;
    if not v_link.is_known_device then -- a stranger in its network cannot use up the attempts of a known device
        retry_after := svc.console_hit('verify from ' || svc.console_network(p_ip), 30, '5 min');
    end if;
    if retry_after is not null then
        outcome := 'rate_limited';
        return;
    end if;
    -- the clock, not now(): the lock may have taken a while. The time that the comparison takes tells nothing about
    -- a code, because both sides are hashes under a key that nobody outside has.
    outcome := case svc.console_link_state(v_link, clock_timestamp())
                    when 'pending' then
                        case when v_link.code_hash = any (p_code_hashes) then 'verified' else 'invalid_code' end
                    when 'locked' then 'locked'
                    when 'expired' then 'expired'
                    else 'already_verified' end;
    if outcome = 'verified' then
        update svc.console_magic_links l
           set status = 'verified', verified_at = clock_timestamp(), expires_at = clock_timestamp() + interval '120 s'
         where l.session_id = p_session_id;
        v_event := 'code_accepted';
    elsif outcome = 'invalid_code' then
        attempts_remaining := v_link.max_attempts - v_link.failed_attempts - 1;
        update svc.console_magic_links l
           set failed_attempts = l.failed_attempts + 1,
               status = case when attempts_remaining = 0 then 'locked' else l.status end
         where l.session_id = p_session_id;
        v_event := case when attempts_remaining = 0 then 'link_locked' else 'code_rejected' end;
    else
        return;
    end if;
    insert into svc.console_events (event, session_id, email, ip, user_agent)
    values (v_event, p_session_id, v_link.email, p_ip, p_user_agent);
end
$svc$;
revoke all on function svc.console_verify(uuid, bytea, bytea[], inet, text) from public;
