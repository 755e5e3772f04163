-- Without snapshots and records found gone, made by nobody, and DDL, made by migrations
select r.table_name, count(*) as entries, count(*) filter (where r.actor_id is null) as without_actor
  from (select l.table_name, l.actor_id, l.operation, l.label from svc.audit_logs l
         where l."timestamp" >= now() - interval '1 day'
         order by l."timestamp" desc, l.id desc limit 20000) r
 where r.operation not in ('SNAPSHOT', 'GONE', 'DDL', 'READ')
 group by r.table_name order by r.table_name limit 200
