-- The planner's estimates, because counting would read the tables; -1 means that nobody has looked yet
select t.name, t.bytes::bigint, greatest(t.rows, 0)::bigint as estimated_rows
  from (
    select case when c.relispartition then 'audit_logs' else c.relname end as name,
           sum(pg_total_relation_size(c.oid::regclass)) as bytes, sum(c.reltuples) as rows
      from pg_class c
     where c.relnamespace = 'svc'::regnamespace::oid and c.relkind = 'r'
     group by 1
  ) t
 where t.name in ('audit_logs', 'webhook_messages', 'webhook_deliveries', 'webhook_delivery_attempts', 'webhook_queue',
                  'console_events')
 order by t.bytes desc, t.name
