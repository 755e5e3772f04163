-- Store the token of a program, by its hash, as made by the actor of the transaction, else by the database's user.
create or replace function svc.console_add_token(
    p_id uuid, p_name text, p_permission text, p_tenant text, p_token_hash bytea, p_lifetime interval
) returns setof svc.console_tokens
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_by text := coalesce(nullif(current_setting('svc.actor_id', true), ''), session_user);
begin
    insert into svc.console_events (event, email, detail)
    values ('token_added', v_by, concat_ws(' ', p_name, p_permission, 'of tenant ' || p_tenant));
    return query
    insert into svc.console_tokens (id, name, permission, tenant, token_hash, created_by, expires_at)
    values (p_id, p_name, p_permission, p_tenant, p_token_hash, v_by, now() + p_lifetime)
    returning *;
end
$svc$;
revoke all on function svc.console_add_token(uuid, text, text, text, bytea, interval) from public;
