-- The destinations of copies, and the endpoints of webhooks that get seals: what they lack of the last thousand.
select x.* from ({destinations}) x
union all
select 'endpoint', pg_catalog.concat_ws(' ', substring(e.url from '^[a-z]+://(?:[^/?#]*@)?([^/?#]*)'), e.id),
       d.last_seal, d.waiting, d.copied_at, d.problem
  from (
      select i.id, i.url from svc.webhook_endpoints i, svc.webhook_event_types t
       where t.name = 'audit.sealed' and i.events operator(pg_catalog.&&) t.patterns and i.tenant is null
         and i.status <> 'disabled'
       order by i.id limit 20
  ) e
  cross join lateral (
      select pg_catalog.max(m.number) filter (where s.status = 'delivered') as last_seal,
             pg_catalog.count(*) filter (where s.status <> 'delivered') as waiting,
             pg_catalog.max(s.finished_at) filter (where s.status = 'delivered') as copied_at,
             (pg_catalog.array_agg(s.last_error order by m.number desc)
                 filter (where s.status <> 'delivered' and s.last_error is not null))[1] as problem
        from (
            select n.id, substring(n.payload::text from '^{"number": ?([0-9]{1,18}),')::bigint as number
              from svc.webhook_messages n
             where n.event_name = 'audit.sealed' order by n.id desc limit 1000
        ) m
        join svc.webhook_deliveries s on s.message_id = m.id and s.endpoint_id = e.id
       where m.number is not null -- else an application sent it, before the event was ours
  ) d
