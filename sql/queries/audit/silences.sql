-- The entries of maintenance about triggers that were not right, of a table and of the log itself, the oldest first:
-- among the newest 1,000 entries of either that are about no record.
select e."timestamp" as told_at, e.label = 'capture right again' as is_over, e.after_data::text as facts,
       e.table_name = 'svc.audit_logs' as is_of_log
  from pg_catalog.unnest(array[%(table)s::text, 'svc.audit_logs']) t(name)
 cross join lateral svc.audit_about_no_record(t.name, 1000) e
 where e.operation = 'DDL' and e.label in ('capture not right', 'capture right again')
 order by e."timestamp", e.id
