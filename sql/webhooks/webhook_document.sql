-- A payload as filters look at it: an array of its number of values, which commas bound, and itself; or a text that
-- says why jsonb cannot hold it.
create or replace function svc.webhook_document(p_payload json) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return format(
        '[%s,%s]', octet_length(p_payload::text) - octet_length(replace(p_payload::text, ',', '')) + 1, p_payload
    )::jsonb;
exception when others then  -- canceled queries are not among them
    return to_jsonb('jsonb cannot hold the payload: ' || sqlerrm);
end
$svc$;
revoke all on function svc.webhook_document(json) from public;
