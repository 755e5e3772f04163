-- Record the epoch in which a restore has put the log. If entries came in another way, by logical replication or COPY,
-- begin a new one now: their transactions have the numbers of another server, and the sequences of ids have not seen
-- theirs. So each sequence is put behind the greatest id, also one that has given none while its table has rows. A
-- copy that a subscription keeps has the epochs of its publisher, and none of its own.
-- access: admin
create or replace function svc.audit_begin_epoch() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_is_copy constant boolean := svc.audit_is_copy();
    v_is_mixed constant boolean := svc.audit_is_mixed();
    v_ids record;
    v_last bigint;
begin
    if v_is_copy or v_is_mixed then
        delete from svc.audit_epochs k using svc.audit_epoch e where k.name = e.here ->> 'epoch';
        delete from svc.audit_epoch;
    end if;
    if v_is_copy then
        return;
    end if;
    for v_ids in
        select c.oid::regclass as of_table, a.attname, s.sequence, pg_sequence_last_value(s.sequence) as last
          from pg_attribute a
          join pg_class c on c.oid = a.attrelid and c.relnamespace = 'svc'::regnamespace
               and c.relkind in ('r', 'p') and not c.relispartition
          cross join lateral (
            select pg_get_serial_sequence(c.oid::regclass::text, a.attname)::regclass as sequence
          ) s
         where a.attidentity <> '' and (v_is_mixed or pg_sequence_last_value(s.sequence) is null)
    loop
        execute format('select max(%I) from %s', v_ids.attname, v_ids.of_table) into v_last;
        if v_last > coalesce(v_ids.last, 0) then
            perform setval(v_ids.sequence, v_last);
        end if;
    end loop;
    insert into svc.audit_epoch default values on conflict do nothing;
    insert into svc.audit_epochs (name, began_at)
    select e.here ->> 'epoch', (e.here ->> 'at')::timestamptz from svc.audit_epoch e
        on conflict do nothing;
    perform svc.audit_note_names();
    if to_regprocedure('svc.audit_note_shapes()') is not null then  -- of the audit trail, which may be left out
        perform svc.audit_note_shapes();
    end if;
end
$svc$;
revoke all on function svc.audit_begin_epoch() from public;
