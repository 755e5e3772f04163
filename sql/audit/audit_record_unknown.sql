-- Record that DDL on an audited table could not be compared, and by which error; nothing if the table is not known.
-- access: trigger
create or replace function svc.audit_record_unknown(p_relation oid, p_tag text, p_error text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_table constant text := (select s.table_name from svc.audit_shapes s where s.relation = p_relation);
begin
    if v_table is not null then
        perform svc.audit_add_ddl(
            v_table, p_relation, null, p_tag, null, null, format('what changed is not known: error %s', p_error));
    end if;
    return v_table;
end
$svc$;
revoke all on function svc.audit_record_unknown(oid, text, text) from public;
