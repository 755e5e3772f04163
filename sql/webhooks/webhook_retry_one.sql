-- As svc.webhook_retry for one delivery, with an error that gives the reason if it cannot be tried again.
-- access: admin
create or replace function svc.webhook_retry_one(p_delivery uuid) returns setof svc.webhook_deliveries
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_status text;
    v_endpoint_status text;
begin
    return query select * from svc.webhook_retry(array[p_delivery]);
    if found then
        return;
    end if;
    select d.status, e.status into v_status, v_endpoint_status
      from svc.webhook_deliveries d left join svc.webhook_endpoints e on e.id = d.endpoint_id
     where d.id = p_delivery;
    if not found then
        raise exception 'no delivery has the id %', p_delivery using errcode = 'SV104';
    elsif v_status = 'delivered' then
        raise exception 'delivery % is delivered', p_delivery using errcode = 'SV105',
            hint = 'To send it once more: svc-pg webhooks replay.';
    elsif v_endpoint_status is null then
        raise exception 'the endpoint of delivery % was deleted', p_delivery using errcode = 'SV105',
            hint = 'Register it again and send the event anew.';
    elsif v_status = 'pending' and v_endpoint_status <> 'disabled' then
        raise exception 'delivery % is due already, or an attempt is under way', p_delivery using errcode = 'SV105',
            hint = 'It is made as soon as a worker, its endpoint and its key allow.';
    end if;
    raise exception 'the endpoint of delivery % is %', p_delivery, v_endpoint_status using errcode = 'SV105',
        hint = 'Resume it first.';
end
$svc$;
revoke all on function svc.webhook_retry_one(uuid) from public;
