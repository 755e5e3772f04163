-- The last recorded comparison of any of the first audited tables with the log, and what is left of all
select pg_catalog.count(*)::integer as tables, pg_catalog.max(l."timestamp") as last_at,
       pg_catalog.min(l."timestamp") as oldest_at, coalesce(pg_catalog.sum(l.unrepaired), 0)::bigint as unrepaired
  from ({last}) l
