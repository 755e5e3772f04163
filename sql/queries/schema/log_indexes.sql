-- A part is lacking also if it is not valid
(select pg_catalog.jsonb_build_object(
    'is_empty', (
        select coalesce(sum(pg_catalog.pg_relation_size(i.inhrelid)), 0) = 0
          from pg_catalog.pg_inherits i where i.inhparent = l.oid
    ),
    'found', (
        select coalesce(pg_catalog.jsonb_object_agg(n, pg_catalog.jsonb_build_object(
                   'is_of_log', i.indrelid is not distinct from l.oid,
                   'is_whole', i.indisvalid and not exists (
                       select from pg_catalog.pg_inherits p
                        where p.inhparent = i.indrelid and not exists (
                            select from pg_catalog.pg_inherits q
                              join pg_catalog.pg_index x on x.indexrelid = q.inhrelid and x.indisvalid
                             where q.inhparent = i.indexrelid and x.indrelid = p.inhrelid
                        )
                   ),
                   'method', substring(pg_catalog.pg_get_indexdef(i.indexrelid) from ' (USING .*)$')
               )), '{}')
          from pg_catalog.unnest(array['{names}']) n
          join pg_catalog.pg_class c on c.relnamespace = l.relnamespace and c.relname = 'audit_logs_' || n
          left join pg_catalog.pg_index i on i.indexrelid = c.oid
    ))
   from pg_catalog.pg_class l join pg_catalog.pg_namespace s on s.oid = l.relnamespace
  where s.nspname = 'svc' and l.relname = 'audit_logs') as log_indexes
