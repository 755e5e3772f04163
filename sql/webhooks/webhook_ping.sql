-- Send the event webhook.ping to one active endpoint, whatever it subscribes to, with a single attempt.
-- access: admin
create or replace function svc.webhook_ping(p_endpoint uuid) returns setof svc.webhook_deliveries
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_endpoint svc.webhook_endpoints;
    v_message uuid := svc.webhook_uuid7();
begin
    select * into v_endpoint from svc.webhook_endpoints e where e.id = p_endpoint;
    if not found then
        raise exception 'no endpoint has the id %', p_endpoint using errcode = 'SV104';
    elsif v_endpoint.status <> 'active' then
        raise exception 'endpoint % is %', p_endpoint, v_endpoint.status
            using errcode = 'SV105', hint = 'Resume it first.';
    end if;
    insert into svc.webhook_messages (id, event_name, payload, tenant)
    values (v_message, 'webhook.ping', json_build_object('endpointId', p_endpoint), v_endpoint.tenant);
    perform svc.webhook_notify();
    return query
    with delivery as (
        insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts)
        values (svc.webhook_uuid7(), v_message, p_endpoint, 'webhook.ping', 1)
        returning *
    ),
    queued as (
        insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
        select d.endpoint_id, d.next_attempt_at, d.id from delivery d
    )
    select d.* from delivery d;
end
$svc$;
revoke all on function svc.webhook_ping(uuid) from public;
