-- What a reconciliation must know of a table: until when entries of it were purged, about how many rows it has, the
-- columns that rules once ignored, and whether the planner may get code of its owner to run while nothing locks it.
-- Purges name the tables of which they removed entries one by one, and earlier those of purges whose own entries they
-- removed; a month that was dropped had entries of any.
select clock_timestamp() as now,
       (select max(greatest(svc.audit_parsed_time(l.before_data -> 'tables' -> %(name)s ->> 'before'),
                            svc.audit_parsed_time(l.before_data -> 'earlier' -> 'tables' -> %(name)s ->> 'before'),
                            svc.audit_parsed_time(l.before_data -> 'earlier' ->> 'before'),
                            svc.audit_parsed_time(l.before_data ->> 'before')))
          from svc.audit_logs l
         where l.table_name = 'svc.audit_logs' and l.operation = 'DELETE' and l.label = 'audit log purged'
           and (l.before_data ?| '{before,earlier}' or l.before_data -> 'tables' ? %(name)s)) as purged_before,
       (select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint
          from (select relid from pg_partition_tree(to_regclass(%(table)s)) union select to_regclass(%(table)s)) t
          join pg_class c on c.oid = t.relid and c.relkind = 'r') as expected,
       coalesce((select o.is_conditional from svc.audit_omissions o where o.table_name = %(name)s), false)
           as was_conditional,
       coalesce((select o.ignored from svc.audit_omissions o where o.table_name = %(name)s), '{}') as once_ignored,
       (select o.rolname::text
          from (select relid from pg_partition_tree(to_regclass(%(table)s)) union select to_regclass(%(table)s)) t
          join pg_class c on c.oid = t.relid
          join pg_roles o on o.oid = c.relowner and not o.rolsuper and o.rolname <> current_user
         limit 1) as other_owner
