-- Messages of these events up to an id are found by all their keys, all messages if it is null, unless an install has
-- changed the keys meanwhile. An event that an install is changing is left to the next run.
with own as (
    select t.name
      from svc.webhook_event_types t
      join rows from (pg_catalog.unnest(%(events)s::text[]), pg_catalog.unnest(%(changed_in)s::bigint[]))
           f(name, changed_in)
        on f.name = t.name and f.changed_in = t.search_changed_in
     where t.search is not null
       for no key update of t skip locked
)
update svc.webhook_event_types t
   set search_filled_to = %(reached)s::uuid,
       searched_since = case when %(reached)s::uuid is null
                             then pg_catalog.array_fill(null::timestamptz, array[pg_catalog.cardinality(t.search)])
                             else t.searched_since end
  from own
 where t.name = own.name
