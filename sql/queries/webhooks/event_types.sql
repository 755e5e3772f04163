select t.name, t.description, t.schema, t.synced_at,
       (select count(*)::integer from (
            select from svc.webhook_endpoints e
             where e.status <> 'disabled' and e.events operator(pg_catalog.&&) t.patterns
               and (%(tenant)s::text is null or e.tenant = %(tenant)s)
             limit 1000
        ) c) as endpoints
  from svc.webhook_event_types t order by t.name
