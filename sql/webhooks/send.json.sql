-- svc.send of a payload that is json already, such as that of to_json: of the same bytes.
-- Has no SET, which would cost more than the call; hence the qualified names.
-- access: sender, admin
create or replace function svc.send(
    event text, payload json, idempotency_key text default null, tenant text default null, delay interval default '0',
    trace_context text default null, key text default null
) returns uuid
language plpgsql
as $svc$
begin
    return svc.send(event, payload::pg_catalog.text, idempotency_key, tenant, delay, trace_context, key);
end
$svc$;
revoke all on function svc.send(text, json, text, text, interval, text, text) from public;
comment on function svc.send(text, json, text, text, interval, text, text) is
    'The same for a payload of type json.';
