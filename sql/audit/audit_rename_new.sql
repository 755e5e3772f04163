-- Let a table that svc.audit_capture_new records have its new name, if a pattern covers that too; false if not. What
-- an install captures keeps its name until the next one.
-- access: trigger
create or replace function svc.audit_rename_new(p_relation oid, p_from text, p_to text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if svc.audit_new_rules(p_to) is null or not exists (
        select from pg_trigger t
         where t.tgrelid = p_relation and t.tgfoid = to_regproc('svc.audit_capture_new')
           and t.tgname::text ^@ '00_svc_audit_'
    ) then
        return false;
    end if;
    delete from svc.installed_objects o
     using pg_trigger t
     where t.tgrelid = p_relation and o.kind = 'trigger' and o.identity = t.tgname || ' on ' || p_to;
    update svc.installed_objects o
       set identity = t.tgname || ' on ' || p_to, audited_table = p_to
      from pg_trigger t
     where t.tgrelid = p_relation and t.tgfoid = to_regproc('svc.audit_capture_new')
       and o.kind = 'trigger' and o.identity = t.tgname || ' on ' || p_from;
    update svc.installed_objects o set audited_table = p_to
      from svc.audit_shapes s
     where s.root = p_relation and s.relation <> p_relation and o.kind = 'trigger' and o.audited_table = p_from
       and substr(o.identity, strpos(o.identity, ' on ') + 4) = s.facts ->> 'table name';
    update svc.audit_shapes s set table_name = p_to where s.root = p_relation;
    insert into svc.audit_table_names (epoch, table_name, table_oid)
    select e.here ->> 'epoch', p_to, p_relation from svc.audit_epoch e
        on conflict do nothing;
    return true;
end
$svc$;
revoke all on function svc.audit_rename_new(oid, text, text) from public;
