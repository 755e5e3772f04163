-- Of the newest endpoints those with some letters in their description or URL, without its query: it may hold a token
with newest as (
    select e.id, e.tenant, e.description, split_part(e.url, '?', 1) as url, e.status
      from svc.webhook_endpoints e order by e.id desc limit %(most)s
)
select e.id::text as id, e.description, e.url, e.status
  from newest e
 where (%(tenant)s::text is null or e.tenant = %(tenant)s)
   and strpos(lower(e.description || ' ' || e.url), lower(%(text)s)) > 0
 order by e.id desc limit %(shown)s
