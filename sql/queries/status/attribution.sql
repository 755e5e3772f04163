-- One step in the index for each table; of each the newest 1,000 entries of the day, without snapshots, made by
-- nobody
with recursive known(name, number) as (
    (select l.table_name, 1 from svc.audit_logs l order by l.table_name limit 1)
    union all
    select (select l.table_name from svc.audit_logs l where l.table_name > k.name order by l.table_name limit 1),
           k.number + 1
      from known k where k.name is not null and k.number < 200
)
select k.name as table_name, e.entries, e.without_actor
  from known k
 cross join lateral (
    select count(*) as entries, count(*) filter (where r.actor_id is null) as without_actor
      from (select l.actor_id, l.operation, l.label from svc.audit_logs l
             where l.table_name = k.name and l."timestamp" >= now() - interval '1 day'
             order by l."timestamp" desc, l.id desc limit 1000) r
     where r.operation <> 'SNAPSHOT' and r.label is distinct from 'found by backfill'
 ) e
 where k.name is not null and e.entries > 0
