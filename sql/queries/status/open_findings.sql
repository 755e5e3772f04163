-- The audited tables whose last recorded comparison with the log left differences: the newest entry of each, by one
-- probe of the index of records in each partition of the last days, since the older ones are pruned. An entry whose
-- number of differences is odd is passed over, as if it were not there.
select t.name as table_name, l."timestamp" as found_at, l.unrepaired, coalesce(l.missing, 0) as missing,
       coalesce(l.differing, 0) as differing, coalesce(l.gone, 0) as gone
  from (select distinct o.audited_table as name from svc.installed_objects o where o.audited_table is not null) t
 cross join lateral (
    select e."timestamp", f.unrepaired, f.missing, f.differing, f.gone
      from svc.audit_logs e
     cross join lateral (
        select pg_catalog.max(n.number) filter (where n.key = 'unrepaired') as unrepaired,
               pg_catalog.max(n.number) filter (where n.key = 'missing') as missing,
               pg_catalog.max(n.number) filter (where n.key = 'differing') as differing,
               pg_catalog.max(n.number) filter (where n.key = 'gone') as gone
          from (
            select k.key, case when pg_catalog.jsonb_typeof(e.after_data -> k.key) = 'number' then
                               case when (e.after_data ->> k.key)::numeric between 0 and 1e15
                                    then (e.after_data ->> k.key)::numeric::bigint end end as number
              from pg_catalog.unnest(array['unrepaired', 'missing', 'differing', 'gone']) k(key)
        ) n
     ) f
     where e.table_name = 'svc.audit_logs' and e.record_id = t.name and e.label = 'audit log reconciled'
       and e."timestamp" > pg_catalog.now() - pg_catalog.make_interval(days => %(days)s) and f.unrepaired is not null
     order by e."timestamp" desc limit 1
 ) l
 where l.unrepaired > 0
 order by t.name limit %(most)s
