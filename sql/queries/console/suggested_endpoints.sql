-- Of the newest endpoints, if there is a tenant of its own alone, those with some letters in their description or URL,
-- without its query: it may hold a token. If there are none, one row has the number of those looked at alone
with newest as (
    select e.id, e.description, split_part(e.url, '?', 1) as url, e.status
      from svc.webhook_endpoints e
     where %(tenant)s::text is null or e.tenant = %(tenant)s
     order by e.id desc limit %(most)s
), found as (
    select n.id, n.description, n.url, n.status
      from newest n
     where strpos(lower(n.description || ' ' || n.url), lower(%(text)s)) > 0
     order by n.id desc limit %(shown)s
)
select looked.number as looked_at, f.id::text as id, f.description, f.url, f.status
  from (select count(*)::int as number from newest) looked left join found f on true
 order by f.id desc
