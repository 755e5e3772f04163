-- The equal limit: our own log with all its columns, indexes and partitions, and constants where we compute.
create function public.equal_row() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, after_data)
        values ('public.account', tg_relid, 'INSERT', new.id, 'alice', to_jsonb(new));
    elsif tg_op = 'UPDATE' then
        insert into svc.audit_logs (
            table_name, table_oid, operation, record_id, actor_id, before_data, after_data, changed_fields
        ) values (
            'public.account', tg_relid, 'UPDATE', new.id, 'alice', to_jsonb(old), to_jsonb(new),
            '{status,updated_at}'
        );
    else
        insert into svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, before_data)
        values ('public.account', tg_relid, 'DELETE', old.id, 'alice', to_jsonb(old));
    end if;
    return null;
end
$$;
create trigger equal_write after insert or delete on public.account
    for each row execute function public.equal_row();
create trigger equal_update after update on public.account
    for each row when (old.* operator(pg_catalog.*<>) new.*) execute function public.equal_row();
