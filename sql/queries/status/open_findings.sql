-- The audited tables whose last recorded comparison with the log left differences
select t.name as table_name, l."timestamp" as found_at, l.unrepaired, coalesce(l.missing, 0) as missing,
       coalesce(l.differing, 0) as differing, coalesce(l.gone, 0) as gone
  from (select distinct o.audited_table as name from svc.installed_objects o where o.audited_table is not null) t
 cross join lateral ({reconciled}) l
 where l.unrepaired > 0
 order by t.name limit %(most)s
