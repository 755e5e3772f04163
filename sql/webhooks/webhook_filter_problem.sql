-- Null if a payload meets an endpoint's filter, empty if it does not; otherwise why that cannot be told: the delivery
-- fails with it, so that people see it and can retry it. A sender never fails, or waits for long, because of a filter:
-- its time grows with its steps times the number of values in the payload. p_steps are those of this filter and of the
-- tenant's lighter ones, which are decided before: if they are too many together, time decides, until p_until.
-- svc.webhook_document makes p_document, p_values and p_problem of the payload, once for all filters.
-- access: admin
create or replace function svc.webhook_filter_problem(
    p_filter text, p_steps bigint, p_document jsonb, p_values integer, p_problem text, p_until timestamptz
) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 1000000;
    v_is_met boolean;
    v_reason text := 'a value is missing, of another type, or cannot be converted';
begin
    if p_problem is not null then
        v_reason := p_problem;
    elsif p_steps * p_values > v_most and svc.webhook_filter_steps(p_filter)::bigint * p_values > v_most then
        v_reason := format('the payload has too many values (%s) for its steps (%s)', p_values,
                           svc.webhook_filter_steps(p_filter));
    elsif p_steps * p_values > v_most and clock_timestamp() > p_until then
        v_reason := format('the payload has too many values (%s) for the steps of all filters of the tenant (%s)',
                           p_values, p_steps);
    else
        begin
            v_is_met := jsonb_path_match(p_document, p_filter::jsonpath, '{}', false);
        exception when others then  -- canceled queries are not among them
            v_reason := sqlerrm;
        end;
    end if;
    return case when v_is_met is null then format('the filter %s cannot be decided: %s', p_filter, v_reason)
                when not v_is_met then '' end;
end
$svc$;
revoke all on function svc.webhook_filter_problem(text, bigint, jsonb, integer, text, timestamptz) from public;
