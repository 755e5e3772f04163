-- The audited tables whose last recorded comparison with the log left differences
select l.name as table_name, l."timestamp" as found_at, l.unrepaired, coalesce(l.missing, 0) as missing,
       coalesce(l.differing, 0) as differing, coalesce(l.gone, 0) as gone
  from ({last}) l
 where l.unrepaired > 0
 order by l.name limit %(most)s
