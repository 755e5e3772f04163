-- The values of a column, one step in its index each: from a text on, as long as they begin with another.
with recursive walk(value, step) as (
    (select {column}, 1 from svc.audit_logs where {column} >= %s order by {column} limit 1)
    union all
    select n.value, w.step + 1
      from walk w
     cross join lateral (
        select {column} as value from svc.audit_logs where {column} > w.value order by {column} limit 1
     ) n
     where w.step < %s and pg_catalog.starts_with(w.value, %s)
)
select s.steps, m.value
  from (select count(*) as steps from walk) s
  left join (
    select value from walk
     where pg_catalog.strpos(pg_catalog.lower(value), pg_catalog.lower(%s)) > 0
       and pg_catalog.octet_length(value) <= %s
     order by value
     limit %s
  ) m on true
