with asked as materialized (
    select t.id, t.position from pg_catalog.unnest(%(ids)s::text[]) with ordinality t(id, position)
),
endpoint as (
    select e.tenant as id, count(*) as n from svc.webhook_endpoints e where e.tenant = any (%(ids)s) group by e.tenant
),
session as (
    select s.tenant as id, count(*) as n from svc.console_sessions s
     where s.tenant = any (%(ids)s) and s.revoked_at is null and s.expires_at > now() group by s.tenant
),
token as (
    select k.tenant as id, count(*) as n from svc.console_tokens k
     where k.tenant = any (%(ids)s) and k.revoked_at is null and k.expires_at > now() group by k.tenant
)
select a.id, coalesce(e.n, 0)::integer as endpoints, m.n::integer as messages, coalesce(s.n, 0)::integer as sessions,
       coalesce(k.n, 0)::integer as tokens
  from asked a
  left join endpoint e on e.id = a.id
  left join session s on s.id = a.id
  left join token k on k.id = a.id
 cross join lateral (
    -- in the order of the one index that begins with the tenant
    select count(*) as n
      from (
        select from svc.webhook_messages m
         where m.tenant = any (array[a.id]) and m.tenant is not null order by m.tenant, m.id limit %(most)s
      ) f
 ) m
 order by a.position
