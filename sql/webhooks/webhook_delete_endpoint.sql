-- Delete an endpoint and cancel its pending deliveries, except attempts under way; claims cancel what is more than
-- 5000. Its deliveries stay on record.
-- access: admin
create or replace function svc.webhook_delete_endpoint(p_endpoint uuid) returns setof svc.webhook_endpoints
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    -- the state first, as in svc.webhook_acknowledge, or the two would deadlock
    perform from svc.webhook_endpoint_state s where s.endpoint_id = p_endpoint for update;
    return query delete from svc.webhook_endpoints e where e.id = p_endpoint returning *;
    if not found then
        raise exception 'no endpoint has the id %', p_endpoint using errcode = 'SV104';
    end if;
    insert into svc.webhook_freed (endpoint_id) values (p_endpoint);
    perform svc.webhook_cancel_pending(p_endpoint, 'the endpoint was deleted', 5000);
end
$svc$;
revoke all on function svc.webhook_delete_endpoint(uuid) from public;
