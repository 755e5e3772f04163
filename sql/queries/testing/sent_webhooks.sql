-- In a transaction the ids are in no order within a millisecond; its commands are
select m.id::text, m.event_name as event, m.payload, m.tenant, m.key, m.idempotency_key,
       coalesce((select pg_catalog.json_agg(e.url order by e.id)
                   from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id
                  where d.message_id = m.id), '[]') as endpoints
  from svc.webhook_messages m
 where (%(event)s::text is null or m.event_name = %(event)s)
   and (%(since)s::text is null or not txid_visible_in_snapshot(m.xact_id, %(since)s::text::txid_snapshot))
 order by m.created_at, m.xact_id, m.cmin::text::bigint, m.ctid
 limit %(most)s
