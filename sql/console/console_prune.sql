-- Remove up to p_limit rows of each table that nobody needs any more: links of both kinds and forms after a day,
-- counts whose window has ended, sessions and tokens 90 days after their end, events after 90 days. Skips locked
-- rows, so it waits for nobody. Forms are among the counts.
-- access: admin
create or replace function svc.console_prune(
    p_limit integer default 10000,
    out links bigint, out counts bigint, out sessions bigint, out tokens bigint, out events bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_forms bigint;
begin
    delete from svc.console_magic_links where session_id in (
        select l.session_id from svc.console_magic_links l
         where l.created_at < now() - interval '1 day' limit p_limit for update skip locked
    );
    get diagnostics links = row_count;
    delete from svc.console_portal_links where id in (
        select l.id from svc.console_portal_links l
         where l.created_at < now() - interval '1 day' limit p_limit for update skip locked
    );
    delete from svc.console_rate where key in (
        select r.key from svc.console_rate r where r.ends_at < now() limit p_limit for update skip locked
    );
    get diagnostics counts = row_count;
    delete from svc.console_forms where digest in (
        select f.digest from svc.console_forms f
         where f.sent_at < now() - interval '1 day' limit p_limit for update skip locked
    );
    get diagnostics v_forms = row_count;
    counts := counts + v_forms;
    delete from svc.console_sessions where id in (
        select s.id from svc.console_sessions s
         where s.created_at < now() - interval '90 days'
           and least(s.expires_at, s.revoked_at) < now() - interval '90 days'
         limit p_limit for update skip locked
    );
    get diagnostics sessions = row_count;
    delete from svc.console_tokens where id in (
        select t.id from svc.console_tokens t
         where least(t.expires_at, t.revoked_at) < now() - interval '90 days' limit p_limit for update skip locked
    );
    get diagnostics tokens = row_count;
    delete from svc.console_uses where id in (
        select u.id from svc.console_uses u
         where u.used_at < now() - interval '90 days'
           and not exists (select from svc.console_sessions s where s.id = u.id)
           and not exists (select from svc.console_tokens t where t.id = u.id)
         limit p_limit for update skip locked
    );
    delete from svc.console_events where id in (
        select e.id from svc.console_events e
         where e.occurred_at < now() - interval '90 days' limit p_limit for update skip locked
    );
    get diagnostics events = row_count;
end
$svc$;
revoke all on function svc.console_prune(integer) from public;
