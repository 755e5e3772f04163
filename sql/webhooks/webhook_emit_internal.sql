-- Send an event of svc-pg itself about an endpoint to those who subscribe to it by name or as webhook.*; '*' does not.
-- If nobody does, nothing is stored. The URL goes without user name and query, which may be credentials.
-- access: admin
create or replace function svc.webhook_emit_internal(p_event text, p_endpoint uuid, p_facts jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_message uuid := svc.webhook_uuid7();
    v_patterns text[];
begin
    select t.patterns into v_patterns from svc.webhook_event_types t where t.name = p_event;
    insert into svc.webhook_messages (id, event_name, payload, tenant)
    select v_message, p_event, (jsonb_build_object(
               'endpointId', a.id, 'url', regexp_replace(a.url, '^([a-z]+://)([^/?#]*@)?([^?#]*).*$', E'\\1\\3')
           ) || p_facts)::json, a.tenant
      from svc.webhook_endpoints a
     where a.id = p_endpoint
       and exists (select from svc.webhook_endpoints e
                    where e.status <> 'disabled' and e.events && v_patterns
                      and (e.tenant is null or e.tenant = a.tenant));
    if found and svc.webhook_deliver(array[v_message], p_event, v_patterns, '0') then
        perform svc.webhook_notify();
    end if;
end
$svc$;
revoke all on function svc.webhook_emit_internal(text, uuid, jsonb) from public;
