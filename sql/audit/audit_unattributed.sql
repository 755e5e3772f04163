-- Refuse a write: its transaction names no actor, and the configuration has unattributed = "refuse". Stable, as
-- audit_drifted, so that PostgreSQL does not call it while it plans.
-- access: owner, writer, admin
create or replace function svc.audit_unattributed(p_table text) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
begin
    raise exception 'nobody is named as the actor of this change of "%"', p_table
        using errcode = 'SV005',
        hint = 'Write in the same transaction: set local svc.actor_id = ''...''; or use audit.actor in Python.';
end
$svc$;
