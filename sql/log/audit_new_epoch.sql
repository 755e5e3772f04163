-- A new epoch of the log: its name and when it began. Declared immutable because a generated column accepts nothing
-- else: a dump leaves such a column out, so a restore computes it anew, in the new place and at that moment.
-- access: writer, admin
create or replace function svc.audit_new_epoch() returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $svc$
    select jsonb_build_object('epoch', left(replace(gen_random_uuid()::text, '-', ''), 12), 'at', clock_timestamp())
$svc$;
