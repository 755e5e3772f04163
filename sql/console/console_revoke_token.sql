-- End the token of a program: the next call with it is refused. By the actor of the transaction, else by the
-- database's user. Returns whether there is such a token; one that has ended stays as it is.
create or replace function svc.console_revoke_token(p_id uuid) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_by text := coalesce(nullif(current_setting('svc.actor_id', true), ''), session_user);
begin
    with revoked as (
        update svc.console_tokens t set revoked_at = now(), revoked_by = v_by
         where t.id = p_id and t.revoked_at is null
        returning t.name
    )
    insert into svc.console_events (event, email, detail) select 'token_revoked', v_by, r.name from revoked r;
    return exists (select from svc.console_tokens t where t.id = p_id);
end
$svc$;
revoke all on function svc.console_revoke_token(uuid) from public;
