-- Tenants with some letters, those that begin with them first: of messages, one step in their index each, from the
-- letters on and then from the first tenant on; and of the newest endpoints
with recursive beginning(tenant, step) as (
    (select m.tenant, 1 from svc.webhook_messages m where m.tenant >= %(text)s order by m.tenant limit 1)
    union all
    select n.tenant, b.step + 1
      from beginning b
     cross join lateral (
        select m.tenant from svc.webhook_messages m where m.tenant > b.tenant order by m.tenant limit 1
     ) n
     where b.step < %(shown)s and pg_catalog.starts_with(b.tenant, %(text)s)
), walk(tenant, step) as (
    (select m.tenant, 1 from svc.webhook_messages m where m.tenant >= '' order by m.tenant limit 1)
    union all
    select n.tenant, w.step + 1
      from walk w
     cross join lateral (
        select m.tenant from svc.webhook_messages m where m.tenant > w.tenant order by m.tenant limit 1
     ) n
     where w.step < %(steps)s
), newest as (
    select e.tenant from svc.webhook_endpoints e order by e.id desc limit %(most)s
), found as (
    select b.tenant from beginning b
    union
    select w.tenant from walk w
    union
    select n.tenant from newest n
), shown as (
    select f.tenant
      from found f
     where pg_catalog.strpos(pg_catalog.lower(f.tenant), pg_catalog.lower(%(text)s)) > 0
     order by not pg_catalog.starts_with(f.tenant, %(text)s), f.tenant
     limit %(shown)s
)
select s.tenant as value,
       (select pg_catalog.count(*) from walk) < %(steps)s
       and (select pg_catalog.count(*) from newest) < %(most)s as is_complete
  from (select) one left join shown s on true
