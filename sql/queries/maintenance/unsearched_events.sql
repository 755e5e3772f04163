-- The events of which older messages are not found by a key, once no transaction can send without it any more: those
-- of before have ended. A number beyond all is of another server, from which the database was restored.
select coalesce(pg_catalog.array_agg(t.name), '{}') as events,
       coalesce(pg_catalog.array_agg(t.search_changed_in), '{}') as changed_in
  from svc.webhook_event_types t
 cross join txid_current_snapshot() s
 where exists (select from pg_catalog.unnest(t.searched_since) k(since) where k.since is not null)
   and (t.search_changed_in < txid_snapshot_xmin(s) or t.search_changed_in > txid_snapshot_xmax(s))
