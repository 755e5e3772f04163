select svc.audit_other_names(%(table)s) as names, (
           select coalesce(pg_catalog.array_agg(distinct c.oid::regclass::text), '{}')
             from svc.audit_names_of(%(table)s) a
            cross join lateral pg_catalog.unnest(a.others) o(oid) join pg_class c on c.oid = o.oid
            where not c.relispartition and exists (
                      select from svc.audit_logs l
                       where l.table_name = a.name and l."timestamp" >= coalesce(a.since, '-infinity')
                         and l.table_oid in (select c.oid union select p.relid from pg_partition_tree(c.oid) p)
                  )
       ) as tables
