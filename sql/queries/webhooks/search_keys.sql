select k.key, t.name as event_name, t.searched_since[k.place::integer] as since
  from svc.webhook_event_types t
 cross join lateral pg_catalog.unnest(t.search) with ordinality k(key, place)
 order by k.key, t.name
