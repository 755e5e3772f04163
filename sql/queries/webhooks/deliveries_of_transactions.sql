-- Of each transaction 20 of its deliveries at most, of its last 20 messages; with a tenant, those to its endpoints
select t.xact_id::text, d.*
  from pg_catalog.unnest(%s::bigint[]) t(xact_id)
 cross join lateral (
    select {columns}
      from (
        select m.id as sent from svc.webhook_messages m
         where m.xact_id = t.xact_id and (%s::text is null or m.tenant = %s)
         order by m.id desc limit 20
      ) m
      join svc.webhook_deliveries d on d.message_id = m.sent
     where %s::text is null or endpoint_id = any (array(select e.id from svc.webhook_endpoints e where e.tenant = %s))
     order by d.id desc limit 20
 ) d
