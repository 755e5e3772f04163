-- Record that DDL on an audited table could not be compared, and by which error; nothing if the table is not known.
-- The form that is kept counts no more, so that the next entry has nothing of this statement as its own.
-- access: trigger
create or replace function svc.audit_record_unknown(p_relation oid, p_tag text, p_error text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_table constant text := (select s.table_name from svc.audit_shapes s where s.relation = p_relation);
begin
    if v_table is null then
        return null;
    end if;
    begin
        update svc.audit_shapes s set facts = '{}' where s.relation = p_relation;
    exception when others then
        null;  -- the lock that was waited for in vain, as a rule: svc.audit_is_change_of_now tells them apart
    end;
    begin
        perform svc.audit_add_ddl(
            v_table, p_relation, null, p_tag, null, null, format('what changed is not known: error %s', p_error));
    exception when others then
        raise warning 'svc-pg: % is not on record: %', p_tag, sqlerrm using errcode = sqlstate;
    end;
    return v_table;
end
$svc$;
revoke all on function svc.audit_record_unknown(oid, text, text) from public;
