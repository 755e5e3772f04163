-- The id of a delivery that exists; an error if there is none. Select from it: a planner may skip a call that
-- stands in a condition.
-- access: reader, admin
create or replace function svc.webhook_existing_delivery(p_delivery uuid) returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if not exists (select from svc.webhook_deliveries d where d.id = p_delivery) then
        raise exception 'no delivery has the id %', p_delivery using errcode = 'SV104';
    end if;
    return p_delivery;
end
$svc$;
revoke all on function svc.webhook_existing_delivery(uuid) from public;
