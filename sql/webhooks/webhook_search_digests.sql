-- The digests of the values that a payload has at keys such as customer.id: of texts, numbers and booleans as they are
-- written, up to 1,024 bytes. A payload that jsonb could not hold, because of \u0000 for example, has none.
-- access: admin
create or replace function svc.webhook_search_digests(p_keys text[], p_payload json) returns bytea[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_digests bytea[] := array[]::bytea[];
    v_key text;
    v_found json;
    v_value text;
begin
    foreach v_key in array p_keys loop
        v_found := p_payload #> string_to_array(v_key, '.');
        if json_typeof(v_found) in ('string', 'number', 'boolean') then
            v_value := v_found #>> '{}';
            if octet_length(v_value) between 1 and 1024 then
                v_digests := v_digests || svc.webhook_search_digest(v_key, v_value);
            end if;
        end if;
    end loop;
    return v_digests;
exception when others then  -- canceled queries are not among them
    return array[]::bytea[];
end
$svc$;
revoke all on function svc.webhook_search_digests(text[], json) from public;
