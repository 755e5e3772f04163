-- Anybody can take an advisory lock; only who maintains keeps others from it
select exists (
    select from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.classid::bigint = %s and l.objid::bigint = %s and l.objsubid = 2
       and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
       and pg_catalog.has_table_privilege(a.usesysid, 'svc.maintenance', 'UPDATE')
)
