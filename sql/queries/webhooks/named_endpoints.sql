-- The endpoints that a text names, or whose id, description, URL or host begins with it. The query of a URL may hold a
-- token, so it is shown to nobody, and only a whole URL is compared with it
select n.id, n.tenant, n.description, n.url, n.text in (n.id, n.name, n.whole, n.place, n.address, n.host) as is_exact
  from (
    select e.id::text, e.tenant, e.description, split_part(e.url, '?', 1) as url, lower(e.description) as name,
           lower(e.url) as whole, u.place, split_part(u.place, '://', 2) as address,
           split_part(split_part(u.place, '://', 2), '/', 1) as host, lower(%s) as text
      from svc.webhook_endpoints e cross join lateral (select lower(split_part(e.url, '?', 1)) as place) u
  ) n
 where starts_with(n.id, n.text) or starts_with(n.name, n.text) or starts_with(n.place, n.text)
    or starts_with(n.address, n.text) or n.whole = n.text
 order by is_exact desc, n.id limit %s
