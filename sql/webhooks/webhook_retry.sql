-- Make failed and canceled deliveries, or those in other states, pending again, due now, with the attempts that are
-- left or at least one more. Skips deliveries in another state and those whose endpoint is disabled or gone.
create or replace function svc.webhook_retry(p_deliveries uuid[], p_statuses text[] default '{failed,canceled}')
returns setof svc.webhook_deliveries
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return query
    with chosen as (
        select d.id
          from svc.webhook_deliveries d
         where d.id = any (p_deliveries) and d.status = any (p_statuses) and d.status <> 'pending'
           and exists (select from svc.webhook_endpoints e where e.id = d.endpoint_id and e.status <> 'disabled')
         order by d.id for update
    ),
    pending as (
        update svc.webhook_deliveries d
           set status = 'pending', failure = null, next_attempt_at = now(), finished_at = null,
               max_attempts = greatest(d.max_attempts, d.attempts - d.lost_attempts + 1),
               manual_attempt = d.attempts + 1, updated_at = now()
          from chosen c
         where d.id = c.id
        returning d.*
    ),
    queued as (
        insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
        select p.endpoint_id, p.next_attempt_at, p.id from pending p
    )
    select p.* from pending p;
    if found then
        perform svc.webhook_notify();
    end if;
end
$svc$;
revoke all on function svc.webhook_retry(uuid[], text[]) from public;
