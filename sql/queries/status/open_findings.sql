-- The audited tables whose last recorded comparison with the log left differences: the newest entry of each, by one
-- probe of each partition's index of records
select t.name as table_name, l."timestamp" as found_at, (l.after_data ->> 'unrepaired')::bigint as unrepaired,
       (l.after_data ->> 'missing')::bigint as missing, (l.after_data ->> 'differing')::bigint as differing,
       (l.after_data ->> 'gone')::bigint as gone
  from (select distinct o.audited_table as name from svc.installed_objects o where o.audited_table is not null) t
 cross join lateral (
    select e."timestamp", e.after_data from svc.audit_logs e
     where e.table_name = 'svc.audit_logs' and e.record_id = t.name and e.label = 'audit log reconciled'
     order by e."timestamp" desc limit 1
 ) l
 where (l.after_data ->> 'unrepaired')::bigint > 0
 order by t.name limit %(most)s
