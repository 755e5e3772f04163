-- Cancel a pending delivery, unless an attempt is under way.
create or replace function svc.webhook_cancel(p_delivery uuid) returns setof svc.webhook_deliveries
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_delivery svc.webhook_deliveries;
begin
    select * into v_delivery from svc.webhook_deliveries d where d.id = p_delivery for update;
    if not found then
        raise exception 'no delivery has the id %', p_delivery using errcode = 'SV104';
    elsif v_delivery.status <> 'pending' then
        raise exception 'delivery % is %', p_delivery, v_delivery.status using errcode = 'SV105',
            hint = 'Only pending deliveries can be canceled.';
    elsif v_delivery.lease_until > now() then
        raise exception 'an attempt of delivery % is under way', p_delivery using errcode = 'SV105',
            hint = 'Try again when it has ended.';
    end if;
    perform svc.webhook_record_lost(array[p_delivery]);
    return query
    update svc.webhook_deliveries d
       set status = 'canceled', finished_at = now(), next_attempt_at = null, lease_id = null, lease_until = null,
           lost_attempts = d.lost_attempts + (d.lease_id is not null)::integer,
           last_error = 'canceled by hand', updated_at = now()
     where d.id = p_delivery
    returning *;
end
$svc$;
revoke all on function svc.webhook_cancel(uuid) from public;
