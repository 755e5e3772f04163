-- Make an endpoint active, paused or disabled. Active forgets its failures, also where it was active already. Disabled
-- cancels what is pending, apart from attempts under way, whose acknowledgement sees to it, and tells those who subscribed
-- to webhook.endpoint.disabled; '*' does not subscribe to that.
create or replace function svc.webhook_set_status(p_endpoint uuid, p_status text, p_reason text default null)
returns setof svc.webhook_endpoints
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_endpoint svc.webhook_endpoints;
    v_message uuid := svc.uuid7();
begin
    -- the state first, as in svc.acknowledge, or the two would deadlock
    perform from svc.webhook_endpoint_state s where s.endpoint_id = p_endpoint for no key update;
    select * into v_endpoint from svc.webhook_endpoints e where e.id = p_endpoint for update;
    if not found then
        raise exception 'no endpoint has the id %', p_endpoint using errcode = 'SV104';
    end if;
    if p_status = 'active' then
        update svc.webhook_endpoint_state s
           set failure_streak = 0, failing_since = null, breaker_until = null, breaker_count = 0
         where s.endpoint_id = p_endpoint;
    end if;
    if v_endpoint.status <> p_status then
        update svc.webhook_endpoints e
           set status = p_status, version = e.version + 1, updated_at = now(),
               disabled_reason = case p_status when 'disabled' then coalesce(p_reason, 'disabled by hand') end
         where e.id = p_endpoint
        returning * into v_endpoint;
        if p_status = 'disabled' then
            perform svc.webhook_cancel_pending(p_endpoint, v_endpoint.disabled_reason);
            insert into svc.webhook_messages (id, event_name, payload, tenant)
            values (v_message, 'webhook.endpoint.disabled', json_build_object(
                        'endpointId', p_endpoint, 'url', v_endpoint.url, 'reason', v_endpoint.disabled_reason),
                    v_endpoint.tenant);
            insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts)
            select svc.uuid7(), v_message, e.id, 'webhook.endpoint.disabled', 5
              from svc.webhook_endpoints e
             where e.status <> 'disabled'
               and e.events && (
                   select t.patterns from svc.webhook_event_types t where t.name = 'webhook.endpoint.disabled')
               and (e.tenant is null or e.tenant = v_endpoint.tenant);
        end if;
    end if;
    perform svc.webhook_ring();
    return next v_endpoint;
end
$svc$;
revoke all on function svc.webhook_set_status(uuid, text, text) from public;
