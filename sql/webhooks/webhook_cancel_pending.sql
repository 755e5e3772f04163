-- Cancel what is pending for an endpoint, apart from attempts under way. Returns how many.
create or replace function svc.webhook_cancel_pending(p_endpoint uuid, p_reason text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_canceled integer;
begin
    update svc.webhook_deliveries d
       set status = 'canceled', finished_at = now(), next_attempt_at = null, last_error = p_reason, updated_at = now()
     where d.endpoint_id = p_endpoint and d.status = 'pending' and d.lease_id is null;
    get diagnostics v_canceled = row_count;
    return v_canceled;
end
$svc$;
revoke all on function svc.webhook_cancel_pending(uuid, text) from public;
