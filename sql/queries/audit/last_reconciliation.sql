-- The last recorded comparison of any of the first audited tables with the log, and what is left of all
select pg_catalog.count(*)::integer as tables, pg_catalog.max(l."timestamp") as last_at,
       pg_catalog.min(l."timestamp") as oldest_at, coalesce(pg_catalog.sum(l.unrepaired), 0)::bigint as unrepaired
  from (
    select distinct o.audited_table as name from svc.installed_objects o
     where o.audited_table is not null and not o.audited_table ^@ 'svc.'
     order by 1 limit %(most)s
  ) t
 cross join lateral ({reconciled}) l
