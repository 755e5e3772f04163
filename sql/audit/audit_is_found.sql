-- True if a comparison of a table with the log wrote an entry of this operation: nobody knows who made the change.
-- access: reader, admin
create or replace function svc.audit_is_found(p_operation text, p_id bigint) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return case p_operation
        when 'GONE' then true
        when 'SNAPSHOT' then exists (
            select from svc.audit_logs l
             where l."timestamp" = (select svc.audit_entry_time(p_id)) and l.id = p_id
               and l.table_oid <> 0 and l.label like 'found by %')
        else false end;
end
$svc$;
revoke all on function svc.audit_is_found(text, bigint) from public;
