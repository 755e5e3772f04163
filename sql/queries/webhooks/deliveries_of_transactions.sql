-- Of each transaction 20 of its deliveries at most, of the last 20 of 1,000 of its messages; with a tenant, those to
-- its endpoints. No equality, or the planner might read all messages by their ids until it finds 20 of them.
select t.xact_id::text, d.*
  from pg_catalog.unnest(%s::bigint[]) t(xact_id)
 cross join lateral (
    select {columns}
      from (
        select s.id as sent
          from (
            select m.id, m.tenant from svc.webhook_messages m
             where m.xact_id >= t.xact_id and m.xact_id <= t.xact_id
             order by m.xact_id desc limit 1000
          ) s
         where %s::text is null or s.tenant = %s
         order by s.id desc limit 20
      ) m
      join svc.webhook_deliveries d on d.message_id = m.sent
     where %s::text is null or endpoint_id = any (array(select e.id from svc.webhook_endpoints e where e.tenant = %s))
     order by d.id desc limit 20
 ) d
