-- Null if the payload meets an endpoint's filter, empty if it does not; otherwise why that cannot be told: the
-- delivery fails with it, so that people see it and can retry it. A sender never fails, or waits for long, because of
-- a filter: the time grows with the length of the filter times the number of values, which commas bound. p_document is
-- what svc.webhook_document makes of the payload.
create or replace function svc.webhook_filter_problem(p_filter text, p_payload json, p_document jsonb) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 2000000;
    v_bytes constant integer := octet_length(p_payload::text);
    v_values integer;
    v_is_met boolean;
    v_reason text := 'a value is missing, of another type, or cannot be converted';
begin
    if char_length(p_filter) * v_bytes::bigint > v_most then
        v_values := v_bytes - octet_length(replace(p_payload::text, ',', '')) + 1;
    end if;
    if char_length(p_filter) * v_values::bigint > v_most then
        v_reason := format('the payload has too many values (%s) for its length', v_values);
    else
        begin
            v_is_met := jsonb_path_match(coalesce(p_document, p_payload::jsonb), p_filter::jsonpath, '{}', false);
        exception when others then  -- canceled queries are not among them
            v_reason := case when p_document is null then 'jsonb cannot hold the payload: ' else '' end || sqlerrm;
        end;
    end if;
    return case when v_is_met is null then format('the filter %s cannot be decided: %s', p_filter, v_reason)
                when not v_is_met then '' end;
end
$svc$;
revoke all on function svc.webhook_filter_problem(text, json, jsonb) from public;
