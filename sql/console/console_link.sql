-- Begin a sign-in whose code needs no mail, for the day that there is none: whoever has the token of p_device_hash may
-- claim the session once, within p_lifetime. The event names the actor of the transaction, else the database's user.
create or replace function svc.console_link(
    p_session_id uuid, p_email text, p_device_hash bytea, p_decoy_hash bytea, p_lifetime interval
) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_by text := coalesce(nullif(current_setting('svc.actor_id', true), ''), session_user);
begin
    insert into svc.console_events (event, session_id, email, detail)
    values ('link_made', p_session_id, p_email, 'by ' || v_by);
    insert into svc.console_magic_links
        (session_id, email, device_hash, code_hash, status, max_attempts, verified_at, expires_at, is_known_device,
         made_by)
    values (p_session_id, p_email, p_device_hash, p_decoy_hash, 'verified', 1, now(), now() + p_lifetime, true, v_by);
    return now() + p_lifetime;
end
$svc$;
revoke all on function svc.console_link(uuid, text, bytea, bytea, interval) from public;
