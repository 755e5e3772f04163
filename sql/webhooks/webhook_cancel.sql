-- Cancel a pending delivery, unless an attempt is under way, or a failed one that blocks its key.
-- access: admin
create or replace function svc.webhook_cancel(p_delivery uuid) returns setof svc.webhook_deliveries
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_status text;
    v_is_ended boolean;
begin
    select d.status into v_status from svc.webhook_deliveries d where d.id = p_delivery for update;
    if not found then
        raise exception 'no delivery has the id %', p_delivery using errcode = 'SV104';
    end if;
    with ended as (
        delete from svc.webhook_blocks b where b.delivery_id = p_delivery returning b.endpoint_id, b.key_id
    ),
    lost as (
        select d.endpoint_id, l.key_id
          from svc.webhook_record_lost(array[p_delivery], now()) l
          join svc.webhook_deliveries d on d.id = l.delivery_id
    ),
    freed as (
        insert into svc.webhook_freed (endpoint_id, key_id)
        select n.endpoint_id, n.key_id from (select * from ended union all select * from lost) n
         where n.key_id is not null
    )
    select exists (select from ended) or exists (select from lost) into v_is_ended;
    if v_is_ended then
        perform svc.webhook_notify(); -- what was behind it may go on
        return query
        update svc.webhook_deliveries d
           set status = 'canceled', failure = 'canceled', finished_at = now(), next_attempt_at = null,
               last_error = 'canceled by hand', updated_at = now()
         where d.id = p_delivery
        returning d.*;
        return;
    elsif v_status <> 'pending' then
        raise exception 'delivery % is %', p_delivery, v_status using errcode = 'SV105',
            hint = 'Only pending ones can be canceled, and failed ones that block their key.';
    end if;
    return query select * from svc.webhook_cancel_many(array[p_delivery], 'canceled by hand');
    if not found then
        raise exception 'an attempt of delivery % is under way', p_delivery using errcode = 'SV105',
            hint = 'Try again when it has ended.';
    end if;
    perform svc.webhook_notify();
end
$svc$;
revoke all on function svc.webhook_cancel(uuid) from public;
