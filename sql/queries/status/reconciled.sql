-- The newest recorded comparison of the table t.name with the log, by one probe of the index of records in each
-- partition of the last days, since the older ones are pruned. An entry whose number of differences is odd is passed
-- over, as if it were not there.
select e."timestamp", f.unrepaired, f.missing, f.differing, f.gone, f.rows
  from svc.audit_logs e
 cross join lateral (
    select pg_catalog.max(n.number) filter (where n.key = 'unrepaired') as unrepaired,
           pg_catalog.max(n.number) filter (where n.key = 'missing') as missing,
           pg_catalog.max(n.number) filter (where n.key = 'differing') as differing,
           pg_catalog.max(n.number) filter (where n.key = 'gone') as gone,
           pg_catalog.max(n.number) filter (where n.key = 'rows') as rows
      from (
        select k.key, case when pg_catalog.jsonb_typeof(e.after_data -> k.key) = 'number' then
                           case when (e.after_data ->> k.key)::numeric between 0 and 1e15
                                then (e.after_data ->> k.key)::numeric::bigint end end as number
          from pg_catalog.unnest(array['unrepaired', 'missing', 'differing', 'gone', 'rows']) k(key)
    ) n
 ) f
 where e.table_name = 'svc.audit_logs' and e.record_id = t.name and e.label = 'audit log reconciled'
   and e."timestamp" > pg_catalog.now() - pg_catalog.make_interval(days => %(days)s)
   and f.unrepaired is not null{since}
 order by e."timestamp" desc limit 1
