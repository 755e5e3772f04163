-- Record the epoch in which a restore has put the log. If entries came in another way, by logical replication or COPY,
-- begin a new one now: their transactions have the numbers of another server, and the sequence has not seen their ids.
create or replace function svc.audit_begin_epoch() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if svc.audit_is_mixed() then
        delete from svc.audit_epochs k using svc.audit_epoch e where k.name = e.here ->> 'epoch';
        delete from svc.audit_epoch;
        perform setval('svc.audit_logs_id_seq', max(l.id)) from svc.audit_logs l having max(l.id) > (
            select s.last_value from svc.audit_logs_id_seq s
        );
    end if;
    insert into svc.audit_epoch default values on conflict do nothing;
    insert into svc.audit_epochs (name, began_at)
    select e.here ->> 'epoch', (e.here ->> 'at')::timestamptz from svc.audit_epoch e
        on conflict do nothing;
    perform svc.audit_note_names();
end
$svc$;
revoke all on function svc.audit_begin_epoch() from public;
