-- Null if a payload meets an endpoint's filter, empty if it does not; otherwise why that cannot be told: the delivery
-- fails with it, so that people see it and can retry it. A sender never fails, or waits for long, because of a filter:
-- the time grows with the length of the filter times the number of values in the payload. p_document is what
-- svc.webhook_document makes of the payload.
create or replace function svc.webhook_filter_problem(p_filter text, p_document jsonb) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 2000000;
    v_is_met boolean;
    v_reason text := 'a value is missing, of another type, or cannot be converted';
begin
    if jsonb_typeof(p_document) = 'string' then
        v_reason := p_document #>> '{}';
    elsif char_length(p_filter) * (p_document ->> 0)::bigint > v_most then
        v_reason := format('the payload has too many values (%s) for its length', p_document ->> 0);
    else
        begin
            v_is_met := jsonb_path_match(p_document -> 1, p_filter::jsonpath, '{}', false);
        exception when others then  -- canceled queries are not among them
            v_reason := sqlerrm;
        end;
    end if;
    return case when v_is_met is null then format('the filter %s cannot be decided: %s', p_filter, v_reason)
                when not v_is_met then '' end;
end
$svc$;
revoke all on function svc.webhook_filter_problem(text, jsonb) from public;
