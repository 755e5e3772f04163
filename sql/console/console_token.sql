-- The live token of a program, by its hash, and no row if there is none: it was never made, revoked, or its time is
-- over. Counts the call, and notes its time if it is a use of the token; retry_after is as for a session.
-- access: admin
create or replace function svc.console_token(p_token_hash bytea, p_is_use boolean default true)
returns table (id uuid, name text, permission text, tenant text, expires_at timestamptz, retry_after integer)
language sql volatile
set search_path = pg_catalog, pg_temp
as $svc$
    with live as (
        select t.* from svc.console_tokens t
         where t.token_hash = p_token_hash and t.revoked_at is null and t.expires_at > now()
    ),
    used as (
        insert into svc.console_uses as u (id, used_at)
        select l.id, now() from live l
         where p_is_use
        on conflict on constraint console_uses_pkey do update set used_at = excluded.used_at
         where u.used_at < excluded.used_at - interval '1 min'
    )
    select l.id, l.name, l.permission, l.tenant, l.expires_at,
           svc.console_hit('calls of ' || l.id, 600, '1 min')
      from live l
$svc$;
revoke all on function svc.console_token(bytea, boolean) from public;
