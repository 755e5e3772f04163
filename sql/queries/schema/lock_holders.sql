-- By pg_inherits, because pg_partition_tree would wait for the very locks. If the locked table is unknown, it is one
-- of ours, or one with an ACCESS EXCLUSIVE lock, the only one that stops a look at its catalog.
with recursive tree as (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = %(schema)s and (c.relname = %(table)s or %(table)s::text is null)
    union
    select i.inhrelid from tree join pg_inherits i on i.inhparent = tree.oid
)
select coalesce('pid ' || l.pid, 'a prepared transaction') as name,
       concat_ws(', ', a.usename, nullif(a.application_name, ''), a.state, 'since ' || a.xact_start) as facts
  from pg_locks l left join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
   and l.database = (select oid from pg_database where datname = current_database())
   and (l.relation in (select oid from tree) or %(table)s::text is null and l.mode = 'AccessExclusiveLock')
 group by l.pid, a.usename, a.application_name, a.state, a.xact_start
 order by a.xact_start
