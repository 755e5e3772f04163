-- Whoever sends has changed the queue too, also by a trigger, without a right of his own; others have those of
-- workers
select l.pid, a.usename::text, a.application_name, a.state, l.mode = 'ExclusiveLock' as is_exclusive,
       r.has_rights, r.has_sent
  from pg_catalog.pg_locks l
  left join pg_catalog.pg_stat_activity a on a.pid = l.pid
 cross join lateral (
    select coalesce(pg_catalog.has_table_privilege(a.usesysid, 'svc.webhook_leases', 'DELETE'), false) as has_rights,
           exists (
               select from pg_catalog.pg_locks q
                where q.virtualtransaction = l.virtualtransaction and q.relation = 'svc.webhook_queue'::regclass
                  and q.database = l.database and q.mode = 'RowExclusiveLock'
           ) as has_sent
  ) r
 where l.locktype = 'advisory' and l.classid = %s and l.objid = %s and l.objsubid = 2 and l.granted
   and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
 order by r.has_rights or r.has_sent, a.xact_start limit 1
