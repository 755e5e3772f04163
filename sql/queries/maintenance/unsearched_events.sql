-- The events of which older messages are not found by a key, once no transaction can send without it any more: those
-- of before have ended, and so have the snapshots of before, as far as this role may see them. A number beyond all is
-- of another server, from which the database was restored. All messages up to reached are found.
select coalesce(pg_catalog.array_agg(t.name order by t.name), '{}') as events,
       coalesce(pg_catalog.array_agg(t.search_changed_in order by t.name), '{}') as changed_in,
       (pg_catalog.array_agg(t.search_filled_to order by t.search_filled_to nulls first))[1] as reached
  from svc.webhook_event_types t
 cross join txid_current_snapshot() s
 where exists (select from pg_catalog.unnest(t.searched_since) k(since) where k.since is not null)
   and (t.search_changed_in > txid_snapshot_xmax(s)
        or t.search_changed_in < txid_snapshot_xmin(s)
           and not exists (
               select from pg_catalog.pg_stat_activity a
                where a.datname = pg_catalog.current_database() and a.backend_type = 'client backend'
                  and a.pid <> pg_catalog.pg_backend_pid()
                  and pg_catalog.age(a.backend_xmin) >= txid_snapshot_xmax(s) - t.search_changed_in
           ))
