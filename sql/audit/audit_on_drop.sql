-- The event trigger of drops: record those of audited tables, of their partitions, columns and triggers. It fails no
-- statement.
-- access: trigger
create or replace function svc.audit_on_drop() returns event_trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'  -- below deadlock_timeout: no statement of others is cancelled
as $svc$
begin
    perform svc.audit_record_all(array(
        select s.relation
          from (
            select e.objid, row_number() over () as number from pg_event_trigger_dropped_objects() e
             where e.classid = 'pg_class'::regclass and e.objsubid = 0 and not e.is_temporary
          ) d
          join svc.audit_shapes s on s.relation = d.objid
         order by s.table_name, s.relation <> s.root, d.number
    ) || array(
        -- columns and triggers that went with something else: a type, a function
        select distinct t.relation
          from pg_event_trigger_dropped_objects() d
         cross join lateral (  -- not by to_regclass, which needs rights on the schema
            select case d.classid when 'pg_class'::regclass then d.objid
                        else (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
                               where n.nspname = d.address_names[1] and c.relname = d.address_names[2]) end
         ) t(relation)
         where (d.classid = 'pg_class'::regclass and d.objsubid > 0 or d.classid = 'pg_trigger'::regclass)
           and not d.is_temporary and t.relation is not null
    ), tg_tag);
exception when others then
    raise warning 'svc-pg: % is not on record: %', tg_tag, sqlerrm using errcode = sqlstate;
end
$svc$;
revoke all on function svc.audit_on_drop() from public;
