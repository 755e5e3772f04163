-- True if this transaction holds the lock of an install, for a role that may: ANALYZE, too, takes such a lock.
-- access: trigger
create or replace function svc.audit_is_installing() returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select has_table_privilege(
               coalesce(nullif(current_setting('role'), 'none'), session_user), 'svc.installation', 'UPDATE'
           ) and exists (
        select from pg_locks l
         where l.locktype = 'relation' and l.pid = pg_backend_pid() and l.granted
           and l.relation = 'svc.installation'::regclass
           and l.mode in ('ShareUpdateExclusiveLock', 'AccessExclusiveLock')
    )
$svc$;
revoke all on function svc.audit_is_installing() from public;
