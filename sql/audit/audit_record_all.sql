-- Record the DDL of one statement on tables, in one subtransaction: more than 64 of them in a transaction slow down
-- all sessions. If that fails, 30 tables each in one of its own. Of more than 100 tables only the number of the
-- others. It fails no statement: what it cannot record is a warning, and an entry without details.
-- access: trigger
create or replace function svc.audit_record_all(p_relations oid[], p_tag text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 100;
    v_alone constant integer := 30;
    v_relation oid;
    v_table text;
    v_number integer := 0;
    v_tried integer := 0;
    v_failures integer := 0;  -- each of which may be a wait for a lock
    v_rest oid[] := array[]::oid[];
begin
    begin
        foreach v_relation in array p_relations loop
            v_table := svc.audit_record_ddl(v_relation, p_tag, v_number >= v_most);
            v_number := v_number + (v_table is not null)::integer;
            if v_table is not null and v_number > v_most then
                v_rest := v_rest || v_relation;
            end if;
        end loop;
        perform svc.audit_record_rest(v_rest, p_tag);
        return;
    exception when others then
        null;
    end;
    foreach v_relation in array p_relations loop
        exit when v_tried = v_alone or v_failures = 3;
        v_tried := v_tried + 1;
        begin
            perform svc.audit_record_ddl(v_relation, p_tag, false);
        exception when others then
            raise warning 'svc-pg: % is not on record with its details: %', p_tag, sqlerrm using errcode = sqlstate;
            perform svc.audit_record_unknown(v_relation, p_tag, sqlstate);
            v_failures := v_failures + 1;
        end;
    end loop;
    begin
        perform svc.audit_record_rest(p_relations[v_tried + 1:], p_tag);
    exception when others then
        raise warning 'svc-pg: % is not on record: %', p_tag, sqlerrm using errcode = sqlstate;
    end;
end
$svc$;
revoke all on function svc.audit_record_all(oid[], text) from public;
