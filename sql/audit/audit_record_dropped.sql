-- Record that a table whose form is known, or a partition of one, was dropped; quietly if others were told already.
-- access: trigger
create or replace function svc.audit_record_dropped(p_known svc.audit_shapes, p_tag text, p_is_quiet boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_is_part constant boolean := p_known.relation <> p_known.root;
    v_name constant text := coalesce(p_known.facts ->> 'table name', p_known.table_name);
begin
    if not p_is_quiet then
        perform svc.audit_add_ddl(
            p_known.table_name, p_known.relation, case when v_is_part then v_name end, p_tag,
            jsonb_build_object(
                case when v_is_part then 'partition ' || v_name else 'table name' end,
                case when v_is_part then 'attached' else v_name end),
            null, null);
    end if;
    if not v_is_part then  -- of a table that no install has captured nothing is to be removed
        delete from svc.installed_objects o
         where o.kind = 'trigger' and o.audited_table = p_known.table_name and o.identity ^@ '00_svc_audit_'
           and not exists (
               select from svc.installed_objects f where f.kind = 'function' and f.audited_table = p_known.table_name)
           and not exists (
               select from svc.audit_shapes s
                where s.table_name = p_known.table_name and s.root <> p_known.relation);
    end if;
    -- the form of the table itself stays, for another that takes its name, if it was captured
    delete from svc.audit_shapes s
     where s.relation = p_known.relation
       and (v_is_part or not exists (
               select from svc.installed_objects i where i.kind = 'trigger' and i.audited_table = p_known.table_name));
end
$svc$;
revoke all on function svc.audit_record_dropped(svc.audit_shapes, text, boolean) from public;
