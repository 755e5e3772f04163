{samples},
took as (
    select s.at, pg_catalog.percentile_cont(array[0.5, 0.95]) within group (order by d.milliseconds) as times
      from sample s cross join lateral pg_catalog.unnest(s.durations) d(milliseconds)
     group by grouping sets ((s.at), ())
)
select {columns}, pg_catalog.array_agg(t.times[1] / 1000::float8 order by b.at) as p50s,
       pg_catalog.array_agg(t.times[2] / 1000::float8 order by b.at) as p95s,
       (select w.times[1] / 1000::float8 from took w where w.at is null) as p50,
       (select w.times[2] / 1000::float8 from took w where w.at is null) as p95
  from bucket b left join took t on t.at = b.at
