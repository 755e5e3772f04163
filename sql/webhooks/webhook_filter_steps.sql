-- The steps of a filter, each of which may go through all values of a payload in 20 to 100 ns a value: paths and
-- accessors. A filter of elements takes as long as 3, and a method, which may convert values, as 64. double() and
-- boolean() print a number first, which may have 100,000 digits: 4096.
-- access: admin
create or replace function svc.webhook_filter_steps(p_filter text) returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_path constant text := p_filter::jsonpath::text;  -- in which names are quoted, and methods have no spaces
begin
    return length(v_path) - length(translate(v_path, '$@.[', ''))
         + 3 * (length(v_path) - length(translate(v_path, '?', '')))
         + 64 * (length(v_path) - length(regexp_replace(v_path, '([a-z])[(]', E'\\1', 'g')))
         + 4032 * (select count(*) from regexp_matches(v_path, '[.](double|boolean)[(]', 'g'))::integer;
end
$svc$;
revoke all on function svc.webhook_filter_steps(text) from public;
