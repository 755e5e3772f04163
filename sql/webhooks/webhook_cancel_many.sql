-- Cancel pending deliveries. Skips those in another state, those with an attempt under way, and those that are
-- locked: waiting for them could deadlock.
create or replace function svc.webhook_cancel_many(p_deliveries uuid[]) returns setof svc.webhook_deliveries
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    update svc.webhook_deliveries d
       set status = 'canceled', finished_at = now(), next_attempt_at = null, last_error = 'canceled by hand',
           updated_at = now()
     where d.id = any (array(
        select q.id
          from svc.webhook_deliveries q
         where q.id = any (p_deliveries) and q.status = 'pending' and q.lease_id is null
         order by q.id
           for update skip locked
     ))
    returning *
$svc$;
revoke all on function svc.webhook_cancel_many(uuid[]) from public;
