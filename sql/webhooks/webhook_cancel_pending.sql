-- Cancel pending deliveries of an endpoint that was disabled or deleted: 5000 at most, so that nobody waits for long.
-- The claim handles the rest, attempts under way, and rows that are locked: waiting for those could deadlock.
create or replace function svc.webhook_cancel_pending(p_endpoint uuid, p_reason text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    update svc.webhook_deliveries d
       set status = 'canceled', finished_at = now(), next_attempt_at = null, last_error = p_reason, updated_at = now()
     where d.id = any (array(
        select q.id
          from svc.webhook_deliveries q
         where q.endpoint_id = p_endpoint and q.status = 'pending' and q.lease_id is null
         order by q.next_attempt_at, q.id limit 5000
           for update skip locked
     ))
$svc$;
revoke all on function svc.webhook_cancel_pending(uuid, text) from public;
