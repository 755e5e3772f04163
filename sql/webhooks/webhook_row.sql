-- The columns of a row that may be sent. Null if one of p_needed is missing, since a redacted column may then have the
-- name of another; and if the row has json that cannot be read.
-- access: owner, admin
create or replace function svc.webhook_row(p_row json, p_columns text[], p_needed text[]) returns json
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_fields text;
    v_found bigint;
begin
    select string_agg(to_json(f.key)::text || ':' || f.value::text, ',') filter (where f.key = any (p_columns)),
           count(*) filter (where f.key = any (p_needed))
      into v_fields, v_found
      from json_each(p_row) f;
    return (case when v_found = cardinality(p_needed) then '{' || coalesce(v_fields, '') || '}' end)::json;
exception when invalid_text_representation or untranslatable_character then
    return null;
end
$svc$;
