select k.key, t.name as event_name, k.since
  from svc.webhook_event_types t
 cross join lateral unnest(t.search, t.searched_since) k(key, since)
 order by k.key, t.name
