-- Of the log only what is settled counts: nothing can come before it any more, so a reader who follows finds it. What
-- settles later than a younger entry was written before it, and is among the last by time as long as nothing else
-- tells. A read is no news: a page that told of it would be read anew, without end; among 5000 entries of which all
-- are reads there is none, which is no news either. Of deliveries PostgreSQL's own statistics tell, which a backend
-- reports after its transaction and up to 10 s later.
select (select max(e.xact_id)::text
          from (select r.xact_id
                  from (select a.xact_id, a.table_name, a."timestamp", a.id
                          from svc.audit_logs a order by a."timestamp" desc, a.id desc limit 5000) r
                 where r.table_name <> 'svc.audit_reads'
                 order by r."timestamp" desc, r.id desc limit 200) e
         where e.xact_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint) as audit,
       (select pg_catalog.concat_ws(' ', (select max(m.id::text) from (
                select m.id from svc.webhook_messages m order by m.id desc limit 1) m),
              pg_stat_get_tuples_inserted(d.oid), pg_stat_get_tuples_updated(d.oid), pg_stat_get_tuples_deleted(d.oid),
              (select count(*) from (select from svc.webhook_leases w limit 10000) l))
          from (select to_regclass('svc.webhook_deliveries')::oid) d(oid)) as deliveries,
       (select pg_catalog.concat_ws(' ', count(*), max(e.updated_at)) from svc.webhook_endpoints e) as endpoints,
       (select max(c.id)::text from svc.console_events c) as console
