-- The id of an endpoint that exists and is not disabled; an error otherwise. Select from it: a planner may skip a call
-- in a condition.
-- access: admin
create or replace function svc.webhook_open_endpoint(p_endpoint uuid) returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_status text;
begin
    select e.status into v_status from svc.webhook_endpoints e where e.id = p_endpoint;
    if not found then
        raise exception 'no endpoint has the id %', p_endpoint using errcode = 'SV104';
    elsif v_status = 'disabled' then
        raise exception 'endpoint % is disabled', p_endpoint using errcode = 'SV105', hint = 'Resume it first.';
    end if;
    return p_endpoint;
end
$svc$;
revoke all on function svc.webhook_open_endpoint(uuid) from public;
