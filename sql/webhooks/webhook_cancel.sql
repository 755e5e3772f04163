-- Cancel a pending delivery, unless an attempt is under way.
create or replace function svc.webhook_cancel(p_delivery uuid) returns setof svc.webhook_deliveries
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_status text;
begin
    select d.status into v_status from svc.webhook_deliveries d where d.id = p_delivery for update;
    if not found then
        raise exception 'no delivery has the id %', p_delivery using errcode = 'SV104';
    elsif v_status <> 'pending' then
        raise exception 'delivery % is %', p_delivery, v_status using errcode = 'SV105',
            hint = 'Only pending deliveries can be canceled.';
    end if;
    perform svc.webhook_record_lost(array[p_delivery], now());
    if found then
        return query
        update svc.webhook_deliveries d
           set status = 'canceled', failure = 'canceled', finished_at = now(), next_attempt_at = null,
               last_error = 'canceled by hand'
         where d.id = p_delivery
        returning d.*;
        return;
    end if;
    return query select * from svc.webhook_cancel_many(array[p_delivery], 'canceled by hand');
    if not found then
        raise exception 'an attempt of delivery % is under way', p_delivery using errcode = 'SV105',
            hint = 'Try again when it has ended.';
    end if;
end
$svc$;
revoke all on function svc.webhook_cancel(uuid) from public;
