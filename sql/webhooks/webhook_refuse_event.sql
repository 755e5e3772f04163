-- Raise the error for an event that cannot be sent: it is not defined, or only svc-pg itself sends it.
-- access: admin
create or replace function svc.webhook_refuse_event(p_event text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if not exists (select from svc.webhook_event_types t where t.name = p_event) then
        raise exception 'webhook event "%" is not defined', p_event using errcode = 'SV102',
            hint = 'Define it in the configuration and run: svc-pg install';
    end if;
    raise exception 'webhook event "%" is sent by svc-pg itself', p_event using errcode = 'SV102',
        hint = 'Choose another name.';
end
$svc$;
revoke all on function svc.webhook_refuse_event(text) from public;
