-- A payload as filters look at it, with the most values that it can have, which commas separate. If jsonb cannot hold
-- it, there is no document, and the reason is given.
-- access: admin
create or replace function svc.webhook_document(p_payload json)
returns table (document jsonb, most_values integer, problem text)
language plpgsql immutable rows 1
set search_path = pg_catalog, pg_temp
as $svc$
begin
    most_values := octet_length(p_payload::text) - octet_length(replace(p_payload::text, ',', '')) + 1;
    begin
        document := p_payload::jsonb;
    exception when others then  -- canceled queries are not among them
        problem := 'jsonb cannot hold the payload: ' || sqlerrm;
    end;
    return next;
end
$svc$;
revoke all on function svc.webhook_document(json) from public;
