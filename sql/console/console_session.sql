-- The live session of a token, by its hash, and no row if there is none: it was never claimed, revoked, its time is
-- over, or it was not used for too long. Counts the call; retry_after is not null if there were more than 600 within a
-- minute. A call that is not a use of the session does not prolong it.
-- access: admin
create or replace function svc.console_session(p_token_hash bytea, p_is_use boolean default true)
returns table (id uuid, email text, permission text, tenant text, expires_at timestamptz, retry_after integer)
language sql volatile
set search_path = pg_catalog, pg_temp
as $svc$
    with live as (
        select s.*, u.used_at
          from svc.console_sessions s left join svc.console_uses u on u.id = s.id
         where s.token_hash = p_token_hash and s.revoked_at is null and s.expires_at > now()
           and coalesce(u.used_at, s.created_at) + s.idle_timeout > now()
    ),
    used as (
        insert into svc.console_uses as u (id, used_at)
        select l.id, now() from live l
         where p_is_use and (l.used_at is null or l.used_at < now() - interval '1 min')
        on conflict on constraint console_uses_pkey do update set used_at = excluded.used_at
    )
    select l.id, l.email, l.permission, l.tenant, l.expires_at,
           svc.console_hit('calls of ' || l.id, 600, '1 min')
      from live l
$svc$;
revoke all on function svc.console_session(bytea, boolean) from public;
