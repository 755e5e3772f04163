select c.oid::bigint as oid, n.nspname::text as schema, c.relname::text as "table", c.relfilenode::bigint as file,
       case when c.relkind = 'f' then null
            else ceil(pg_relation_size(c.oid)::numeric / current_setting('block_size')::integer)::integer end as pages
  from (select relid from pg_partition_tree(%s::regclass) union select %s::regclass) t
  join pg_class c on c.oid = t.relid and c.relkind in ('r', 'f')
  join pg_namespace n on n.oid = c.relnamespace
 order by c.oid
