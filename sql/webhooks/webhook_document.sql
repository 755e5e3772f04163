-- A payload as the document that filters look at; null if jsonb cannot hold it.
create or replace function svc.webhook_document(p_payload json) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return p_payload::jsonb;
exception when others then  -- canceled queries are not among them
    return null;
end
$svc$;
revoke all on function svc.webhook_document(json) from public;
