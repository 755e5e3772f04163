-- Of each transaction 20 of its deliveries at most, and one more that tells of others, of the last 20 of 1,000 of its
-- messages; with a tenant, its own, to its endpoints, and nothing that tells of others' messages. A row without a
-- delivery if it has none. No equality, or the planner might read all messages by their ids until it finds 20
select t.xact_id::text, l.has_more, d.*
  from pg_catalog.unnest(%s::bigint[]) t(xact_id)
 cross join lateral (
    select pg_catalog.count(*) filter (where s.is_own) > case when pg_catalog.count(*) < 1000 then 20 else 0 end
               as has_more,
           (pg_catalog.array_agg(s.id order by s.id desc) filter (where s.is_own))[:20] as sent
      from (
        select m.id, %s::text is null or m.tenant = %s as is_own
          from svc.webhook_messages m
         where m.xact_id >= t.xact_id and m.xact_id <= t.xact_id
         order by m.xact_id desc limit 1000
      ) s
 ) l
  left join lateral (
    select {columns}
      from pg_catalog.unnest(l.sent) m(sent)
     cross join lateral (select * from svc.webhook_deliveries each where each.message_id = m.sent offset 0) d
     where %s::text is null or endpoint_id = any (array(select e.id from svc.webhook_endpoints e where e.tenant = %s))
     order by d.id desc limit 21
 ) d on true
