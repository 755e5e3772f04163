-- The live session of a token, by its hash, and no row if there is none: it was never claimed, revoked, or its time
-- is over. Counts the call; retry_after is not null if there were more than 600 within a minute.
create or replace function svc.console_session(p_token_hash bytea)
returns table (id uuid, email text, permission text, expires_at timestamptz, retry_after integer)
language sql volatile
set search_path = pg_catalog, pg_temp
as $svc$
    select s.id, s.email, s.permission, s.expires_at, svc.console_hit('calls of ' || s.id, 600, '1 min')
      from svc.console_sessions s
     where s.token_hash = p_token_hash and s.revoked_at is null and s.expires_at > now()
$svc$;
revoke all on function svc.console_session(bytea) from public;
