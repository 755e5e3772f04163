-- Record the attempts of deliveries whose lease ended without an acknowledgement, before they are canceled.
create or replace function svc.webhook_record_lost(p_deliveries uuid[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    insert into svc.webhook_delivery_attempts
        (delivery_id, endpoint_id, attempt, cause, started_at, outcome, error, worker)
    select d.id, d.endpoint_id, d.attempts, svc.webhook_cause(d.event_name, d.attempts = d.manual_attempt),
           d.updated_at, 'lost', 'the lease ended without an acknowledgement', d.worker
      from svc.webhook_deliveries d
     where d.id = any (p_deliveries) and d.lease_id is not null
$svc$;
revoke all on function svc.webhook_record_lost(uuid[]) from public;
