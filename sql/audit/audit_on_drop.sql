-- The event trigger of drops: record those of audited tables, of their partitions, columns and triggers. Of more than
-- 100 tables in one statement only the number of the others. It fails no statement, as svc.audit_on_ddl.
-- access: trigger
create or replace function svc.audit_on_drop() returns event_trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'  -- below deadlock_timeout: no statement of others is cancelled
as $svc$
declare
    v_most constant integer := 100;
    v_dropped record;
    v_relation oid;
    v_number integer := 0;
    v_failures integer := 0;  -- each of which may be a wait for a lock
begin
    for v_dropped in
        select s.relation, s.table_name, s.root, s.facts ->> 'table name' as name, d.number,
               count(*) over () as total
          from (
            select e.objid, row_number() over () as number from pg_event_trigger_dropped_objects() e
             where e.classid = 'pg_class'::regclass and e.objsubid = 0 and not e.is_temporary
          ) d
          join svc.audit_shapes s on s.relation = d.objid
         order by s.table_name, s.relation <> s.root, d.number
    loop
        v_number := v_number + 1;
        begin
            if v_number <= v_most then
                perform svc.audit_add_ddl(
                    v_dropped.table_name, v_dropped.relation,
                    case when v_dropped.relation <> v_dropped.root then v_dropped.name end, tg_tag,
                    jsonb_build_object(
                        case when v_dropped.relation = v_dropped.root then 'table name'
                             else 'partition ' || v_dropped.name end,
                        case when v_dropped.relation = v_dropped.root then v_dropped.name else 'attached' end),
                    null, null);
            elsif v_number = v_most + 1 then
                perform svc.audit_add_ddl(
                    v_dropped.table_name, v_dropped.relation, null, tg_tag, null,
                    jsonb_build_object('more tables', v_dropped.total - v_most),
                    'this table is the first of those that have no entry of their own');
            end if;
            delete from svc.audit_shapes s where s.relation = v_dropped.relation and s.relation <> s.root;
        exception when others then
            raise warning 'svc-pg: % is not on record with its details: %', tg_tag, sqlerrm using errcode = sqlstate;
            perform svc.audit_record_unknown(v_dropped.relation, tg_tag, sqlstate);
            v_failures := v_failures + 1;
        end;
        exit when v_failures = 3;
    end loop;
    -- columns and triggers that went with something else: a type, a function
    for v_relation in
        select distinct t.relation
          from pg_event_trigger_dropped_objects() d
         cross join lateral (
            select case d.classid when 'pg_class'::regclass then d.objid
                        else to_regclass(format('%I.%I', d.address_names[1], d.address_names[2]))::oid end
         ) t(relation)
         where (d.classid = 'pg_class'::regclass and d.objsubid > 0 or d.classid = 'pg_trigger'::regclass)
           and not d.is_temporary and t.relation is not null
    loop
        exit when v_failures = 3;
        begin
            if svc.audit_record_ddl(v_relation, tg_tag, v_number >= v_most) is not null then
                v_number := v_number + 1;
            end if;
        exception when others then
            raise warning 'svc-pg: % is not on record with its details: %', tg_tag, sqlerrm using errcode = sqlstate;
            perform svc.audit_record_unknown(v_relation, tg_tag, sqlstate);
            v_failures := v_failures + 1;
        end;
    end loop;
exception when others then
    raise warning 'svc-pg: % is not on record: %', tg_tag, sqlerrm using errcode = sqlstate;
end
$svc$;
revoke all on function svc.audit_on_drop() from public;
