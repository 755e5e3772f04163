-- These events are found by all their keys, unless an install has changed the keys meanwhile.
update svc.webhook_event_types t
   set searched_since = array_fill(null::timestamptz, array[cardinality(t.search)])
  from unnest(%s::text[], %s::bigint[]) f(name, changed_in)
 where t.name = f.name and t.search_changed_in = f.changed_in and t.search is not null
