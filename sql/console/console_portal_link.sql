-- Make a link to the portal of a tenant, good once within p_good_for, as the actor of the transaction, else the
-- database's user. Returns the end of that time.
create or replace function svc.console_portal_link(
    p_id uuid, p_tenant text, p_token_hash bytea, p_session_lifetime interval, p_good_for interval
) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_by text := coalesce(nullif(current_setting('svc.actor_id', true), ''), session_user);
begin
    insert into svc.console_portal_links (id, tenant, token_hash, session_lifetime, created_by, expires_at)
    values (p_id, p_tenant, p_token_hash, p_session_lifetime, v_by, now() + p_good_for);
    insert into svc.console_events (event, session_id, email, detail)
    values ('portal_link_made', p_id, v_by, 'of tenant ' || p_tenant);
    return now() + p_good_for;
end
$svc$;
revoke all on function svc.console_portal_link(uuid, text, bytea, interval, interval) from public;
