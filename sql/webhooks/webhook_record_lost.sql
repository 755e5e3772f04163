-- Record the lost attempts of deliveries whose lease has ended, take the leases away, and return the deliveries: the
-- caller, who has locked them, says what becomes of them.
-- access: admin
create or replace function svc.webhook_record_lost(p_deliveries uuid[], p_now timestamptz)
returns table (delivery_id uuid, key_id bigint, sequence bigint)
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    with ended as (
        delete from svc.webhook_leases l
         using svc.webhook_deliveries d
         where d.id = any (p_deliveries) and l.endpoint_id = d.endpoint_id and l.delivery_id = d.id
           and l.lease_until <= p_now
        returning l.delivery_id, l.leased_at, l.worker, l.key_id, l.sequence
    ),
    lost as (
        update svc.webhook_deliveries d
           set attempts = d.attempts + 1, lost_attempts = d.lost_attempts + 1, updated_at = p_now
          from ended e
         where d.id = e.delivery_id
        returning d.id, d.endpoint_id, d.event_name, d.attempts, d.manual_attempt, e.leased_at, e.worker,
                  e.key_id, e.sequence
    ),
    attempt as (
        insert into svc.webhook_delivery_attempts
            (delivery_id, endpoint_id, attempt, cause, started_at, outcome, error, worker)
        select l.id, l.endpoint_id, l.attempts, svc.webhook_cause(l.event_name, l.attempts = l.manual_attempt),
               l.leased_at, 'lost', 'the lease ended without an acknowledgement', l.worker
          from lost l
    )
    select l.id, l.key_id, l.sequence from lost l
$svc$;
revoke all on function svc.webhook_record_lost(uuid[], timestamptz) from public;
