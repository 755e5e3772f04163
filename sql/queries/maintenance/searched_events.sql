-- These events are found by all their keys, unless an install has changed the keys meanwhile.
update svc.webhook_event_types t
   set searched_since = pg_catalog.array_fill(null::timestamptz, array[pg_catalog.cardinality(t.search)])
  from pg_catalog.unnest(%s::text[]) with ordinality f(name, place)
 where t.name = f.name and t.search_changed_in = (%s::bigint[])[f.place::integer] and t.search is not null
