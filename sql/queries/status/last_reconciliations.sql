-- The last recorded comparison of each of these tables with the log: {tables} are distinct names t.name. From the last
-- name on, a probe finds the greatest record that is not beyond the name, and so passes over the names that have none.
with recursive named as materialized (
    select coalesce(pg_catalog.array_agg(t.name collate "C" order by t.name collate "C"), '{}') as names
      from ({tables}) t
),
walk (next, name, record_id, at) as (
    select pg_catalog.cardinality(n.names), null::text collate "C", null::text collate "C", null::timestamptz
      from named n
    union all
    select case when l.record_id is null then 0
                else least(w.next - 1, pg_catalog.width_bucket(l.record_id collate "C", n.names)) end,
           n.names[w.next] collate "C", l.record_id, l."timestamp"
      from walk w cross join named n
      left join lateral (
        select e.record_id, e."timestamp" from svc.audit_logs e
         where e.table_name = 'svc.audit_logs' and e.record_id <= n.names[w.next]
           and e."timestamp" > pg_catalog.now() - pg_catalog.make_interval(days => %(days)s)
         order by e.record_id desc, e."timestamp" desc limit 1
      ) l on true
     where w.next > 0
)
select t.name, l."timestamp", l.unrepaired, l.missing, l.differing, l.gone, l.rows
  from walk t
 cross join lateral (
    -- the newest entry of the name, or an older one if that is about something else
    select r.* from ((select * from ({newest}) n) union all (select * from ({reconciled}) o)) r limit 1
 ) l
 where t.record_id = t.name
