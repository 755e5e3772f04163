-- Cancel pending deliveries. Skips those in another state, those with an attempt under way, and those that are
-- locked: waiting for them could deadlock. They are found by their ids alone (offset 0): if the queue was empty when
-- it was last analysed, the planner would rather search all of it for the ids.
create or replace function svc.webhook_cancel_many(p_deliveries uuid[]) returns setof svc.webhook_deliveries
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    update svc.webhook_deliveries d
       set status = 'canceled', finished_at = now(), next_attempt_at = null, last_error = 'canceled by hand',
           updated_at = now()
     where d.id = any (array(
        select q.id
          from (
            select l.id, l.status, l.lease_id
              from svc.webhook_deliveries l
             where l.id = any (p_deliveries)
             order by l.id offset 0
               for update skip locked
          ) q
         where q.status = 'pending' and q.lease_id is null
     ))
    returning *
$svc$;
revoke all on function svc.webhook_cancel_many(uuid[]) from public;
