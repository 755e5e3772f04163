-- Entries by their places, in the order given: a join to what each row of a function gives keeps it
  from rows from (
           pg_catalog.unnest(%s::timestamptz[]), pg_catalog.unnest(%s::bigint[])
       ) with ordinality place(at, entry_id, n)
 cross join lateral (
    select * from svc.audit_logs l where l."timestamp" = place.at and l.id = place.entry_id offset 0
 ) audit_logs
 order by place.n
