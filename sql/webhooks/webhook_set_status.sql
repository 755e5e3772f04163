-- Make an endpoint active, paused or disabled. Active forgets its failures, even if it was active already. Disabled
-- cancels what is pending, apart from attempts under way, whose acknowledgement sees to it, and tells those who
-- subscribed to webhook.endpoint.disabled; '*' does not subscribe to that. To disable is quick, however much is
-- pending: claims cancel the rest. If it is made active before they have, that cancels the rest, however long that
-- takes.
-- access: admin
create or replace function svc.webhook_set_status(p_endpoint uuid, p_status text, p_reason text default null)
returns setof svc.webhook_endpoints
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_endpoint svc.webhook_endpoints;
begin
    -- the state first, as in svc.webhook_acknowledge, or the two would deadlock
    perform from svc.webhook_endpoint_state s where s.endpoint_id = p_endpoint for no key update;
    select * into v_endpoint from svc.webhook_endpoints e where e.id = p_endpoint for update;
    if not found then
        raise exception 'no endpoint has the id %', p_endpoint using errcode = 'SV104';
    end if;
    if v_endpoint.status = 'disabled' and p_status = 'paused' then
        raise exception 'endpoint % is disabled', p_endpoint using errcode = 'SV105', hint = 'Resume it first.';
    end if;
    if p_status = 'active' then
        update svc.webhook_endpoint_state s
           set failure_streak = 0, failing_since = null, breaker_until = null, breaker_count = 0,
               throttled_until = null, throttled_since = null,
               -- its step ends now, if that is known
               breaker_opened_until = case when s.breaker_until > now() and cardinality(s.breaker_opened_until) > 0
                   then s.breaker_opened_until[:cardinality(s.breaker_opened_until) - 1] || now()
                   else s.breaker_opened_until end,
               open_since = case when v_endpoint.status <> 'active' or s.breaker_until is not null
                                      or s.throttled_until is not null then now()
                                 else s.open_since end
         where s.endpoint_id = p_endpoint;
    end if;
    if v_endpoint.status = 'disabled' and p_status = 'active' then
        perform svc.webhook_return_lost(now(), p_endpoint);
        perform svc.webhook_cancel_pending(p_endpoint, v_endpoint.disabled_reason);
    end if;
    insert into svc.webhook_freed (endpoint_id) values (p_endpoint);
    if v_endpoint.status <> p_status then
        update svc.webhook_endpoints e
           set status = p_status, version = e.version + 1, updated_at = now(),
               disabled_reason = case p_status when 'disabled' then coalesce(p_reason, 'disabled by hand') end
         where e.id = p_endpoint
        returning * into v_endpoint;
        if p_status = 'disabled' then
            perform svc.webhook_cancel_pending(p_endpoint, v_endpoint.disabled_reason, 5000);
            perform svc.webhook_emit_internal('webhook.endpoint.disabled', p_endpoint,
                                     jsonb_build_object('reason', v_endpoint.disabled_reason));
        end if;
    end if;
    perform svc.webhook_notify();
    return next v_endpoint;
end
$svc$;
revoke all on function svc.webhook_set_status(uuid, text, text) from public;
