-- The entries of maintenance about triggers that were not right, of a table and of the log itself, the oldest first.
-- They are about no record, so an index finds them: among the newest 1,000 such entries of either.
select e."timestamp" as told_at, e.label = 'capture right again' as is_over, e.after_data::text as facts,
       e.table_name = 'svc.audit_logs' as is_of_log
  from pg_catalog.unnest(array[%(table)s::text, 'svc.audit_logs']) t(name)
 cross join lateral (
    select l."timestamp", l.id, l.table_name, l.operation, l.label, l.after_data
      from svc.audit_logs l
     where l.table_name = t.name and l.record_id is null
     order by l."timestamp" desc
     limit 1000
 ) e
 where e.operation = 'DDL' and e.label in ('capture not right', 'capture right again')
 order by e."timestamp", e.id
