-- The partitions without their part of an index, and whether an index of its name is there, and valid
select p.relname::text as partition, part.name as index, x.indexrelid is not null as is_there,
       case when x.indisvalid
            then substring(pg_catalog.pg_get_indexdef(x.indexrelid) from ' (USING .*)$') end as method
  from pg_catalog.pg_inherits i join pg_catalog.pg_class p on p.oid = i.inhrelid
 cross join lateral (select pg_catalog.replace(%s::text, 'audit_logs', p.relname)) part (name)
  left join pg_catalog.pg_class k on k.relnamespace = p.relnamespace and k.relname = part.name
  left join pg_catalog.pg_index x on x.indexrelid = k.oid and x.indrelid = p.oid
 where i.inhparent = 'svc.audit_logs'::regclass
   and not exists (
       select from pg_catalog.pg_inherits q join pg_catalog.pg_index w on w.indexrelid = q.inhrelid
        where q.inhparent = to_regclass('svc.' || %s) and w.indrelid = p.oid
   )
 order by p.relname
