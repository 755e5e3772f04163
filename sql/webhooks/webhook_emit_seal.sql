-- Send a copy of a seal to those who subscribe to audit.sealed by name or as audit.*; '*' does not, and no endpoint of
-- a tenant gets it. If nobody does, nothing is stored. The transaction of the seal calls it.
-- access: admin
create or replace function svc.webhook_emit_seal(p_copy json) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_message uuid := svc.webhook_uuid7();
    v_patterns text[];
begin
    select t.patterns into v_patterns from svc.webhook_event_types t where t.name = 'audit.sealed';
    insert into svc.webhook_messages (id, event_name, payload)
    select v_message, 'audit.sealed', p_copy
     where exists (select from svc.webhook_endpoints e
                    where e.status <> 'disabled' and e.events && v_patterns and e.tenant is null);
    if found and svc.webhook_deliver(array[v_message], 'audit.sealed', v_patterns, '0') then
        perform svc.webhook_notify();
    end if;
end
$svc$;
revoke all on function svc.webhook_emit_seal(json) from public;
