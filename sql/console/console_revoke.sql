-- End a session: the next call with its token is refused. By the actor of the transaction, else by the database's
-- user. Returns whether there is such a session; one that has ended stays as it is.
create or replace function svc.console_revoke(p_id uuid) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_by text := coalesce(nullif(current_setting('svc.actor_id', true), ''), session_user);
begin
    with revoked as (
        update svc.console_sessions s set revoked_at = now(), revoked_by = v_by
         where s.id = p_id and s.revoked_at is null and s.expires_at > now()
        returning s.id, s.email
    )
    insert into svc.console_events (event, session_id, email, detail)
    select 'session_revoked', r.id, r.email, 'by ' || v_by from revoked r;
    return exists (select from svc.console_sessions s where s.id = p_id);
end
$svc$;
revoke all on function svc.console_revoke(uuid) from public;
