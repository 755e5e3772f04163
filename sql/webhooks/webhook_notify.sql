-- Wake a worker, if one sleeps: it then holds this lock exclusively. A NOTIFY on every commit would serialise commits.
create or replace function svc.webhook_notify() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if not pg_try_advisory_xact_lock_shared(1937138032, 1) then
        perform pg_notify('svc_webhooks', '');
    end if;
end
$svc$;
