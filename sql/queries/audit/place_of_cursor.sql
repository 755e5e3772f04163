-- The time and id of a cursor's entry, or its place in the order of change; its transaction is looked at again, whose
-- order is known only as a whole.
select coalesce(max(h.place_timestamp), c.at) as at, coalesce(max(h.place_id), c.id) as id
  from (select %s::timestamptz as at, %s::bigint as id) c
  left join lateral (
    select h.place_timestamp, h.place_id
      from svc.audit_logs l
     cross join lateral svc.audit_history(l.table_name, %s, l."timestamp", l."timestamp") h
     where l."timestamp" = c.at and l.id = c.id and (l.record_id = %s or l.moved_from = %s)
       and h.entry_timestamp = c.at and h.entry_id = c.id
    offset 0
  ) h on true
 group by c.at, c.id
