-- Disable an endpoint on account of its answers; false if somebody has deleted or disabled it already, or is
-- changing it: the next answer of that kind disables it then.
-- access: admin
create or replace function svc.webhook_disable_by_worker(p_endpoint uuid, p_reason text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform from svc.webhook_endpoint_state s where s.endpoint_id = p_endpoint for no key update skip locked;
    if not found then
        return false;
    end if;
    perform from svc.webhook_endpoints e where e.id = p_endpoint and e.status <> 'disabled' for update skip locked;
    if not found then
        return false;
    end if;
    perform set_config('svc.actor_id', 'svc-pg worker', true),
            set_config('svc.context', '{"program": "svc-pg"}', true);
    perform svc.webhook_set_status(p_endpoint, 'disabled', p_reason);
    return true;
end
$svc$;
revoke all on function svc.webhook_disable_by_worker(uuid, text) from public;
