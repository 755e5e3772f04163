-- Cancel due deliveries of endpoints that are disabled or gone, up to 1000 of each endpoint: those that were sent
-- while the endpoint was closed, and those whose attempt was under way and never acknowledged.
create or replace function svc.webhook_cancel_due(p_endpoints uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_deliveries uuid[];
begin
    select array_agg(q.id) into v_deliveries
      from unnest(p_endpoints) o(endpoint_id) left join svc.webhook_endpoints e on e.id = o.endpoint_id
     cross join lateral (
        select d.id
          from svc.webhook_deliveries d
         where d.endpoint_id = o.endpoint_id and d.status = 'pending' and d.next_attempt_at <= now()
         order by d.next_attempt_at, d.id limit 1000
           for update skip locked
      ) q
     where e.id is null or e.status = 'disabled';
    perform svc.webhook_record_lost(v_deliveries);
    update svc.webhook_deliveries d
       set status = 'canceled', finished_at = now(), next_attempt_at = null, lease_id = null, lease_until = null,
           lost_attempts = d.lost_attempts + (d.lease_id is not null)::integer,
           last_error = 'the endpoint is disabled or was deleted', updated_at = now()
     where d.id = any (v_deliveries);
    if cardinality(v_deliveries) >= 1000 then
        perform svc.webhook_notify(); -- there may be more
    end if;
end
$svc$;
revoke all on function svc.webhook_cancel_due(uuid[]) from public;
