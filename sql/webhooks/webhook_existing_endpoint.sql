-- The id of an endpoint that exists; an error where there is none, or where it must be open and is disabled.
create or replace function svc.webhook_existing_endpoint(p_endpoint uuid, p_must_be_open boolean default false)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_status text;
begin
    select e.status into v_status from svc.webhook_endpoints e where e.id = p_endpoint;
    if not found then
        raise exception 'no endpoint has the id %', p_endpoint using errcode = 'SV104';
    elsif p_must_be_open and v_status = 'disabled' then
        raise exception 'endpoint % is disabled', p_endpoint using errcode = 'SV105', hint = 'Resume it first.';
    end if;
    return p_endpoint;
end
$svc$;
revoke all on function svc.webhook_existing_endpoint(uuid, boolean) from public;
