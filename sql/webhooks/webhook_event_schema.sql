-- The JSON Schema of an event's payload, or null. Senders validate with it before they send.
-- access: sender, admin
create or replace function svc.webhook_event_schema(p_event text) returns json
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
    select t.schema from svc.webhook_event_types t where t.name = p_event
$svc$;
revoke all on function svc.webhook_event_schema(text) from public;
