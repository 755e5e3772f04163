-- The entries of a record at its next places, in the order of change: those selected, and that of the last place if
-- more may follow. The index of records finds the places, whatever the statistics say; then each entry comes by its
-- key, because from a filter on the record the planner would read all that is about it.
with near as materialized (
    select t.name, e.at, e.id, n.first, n.last
      from ({edge}) e
     cross join pg_catalog.unnest(%s::text[]) t(name)
     cross join lateral svc.audit_near(t.name, %s, e.at, e.id, {is_before}, %s, null) n
     where n.first is not null
),
place as materialized (
    select h.entry_timestamp, h.entry_id, h.place_timestamp, h.place_id, near.{last} as reached,
           count(*) over (partition by near.name) >= %s as is_full
      from near cross join lateral svc.audit_history(near.name, %s, near.first, near.last) h
     where (h.place_timestamp, h.place_id) {beyond} (near.at, near.id) and h.place_timestamp {up_to} near.{last}
)
{columns}, s.is_selected as "svc is selected", p.is_end as "svc is end"
  from (
    select place.*, b.at is not null and place.place_timestamp {up_to} {far}
                    and row_number() over (order by place_timestamp{back}, place_id{back}) = 1 as is_end
      from place
     cross join (select {nearest}(reached) as at from place where is_full) b
     where b.at is null or place.place_timestamp {up_to} b.at
  ) p
 cross join lateral (
    select * from svc.audit_logs l where l."timestamp" = p.entry_timestamp and l.id = p.entry_id offset 0
 ) audit_logs
 cross join lateral (select {is_selected} as is_selected) s
 where p.is_end or s.is_selected
 order by p.place_timestamp{forth}, p.place_id{forth}
 limit %s
