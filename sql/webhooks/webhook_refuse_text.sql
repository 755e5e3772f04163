-- Raise the error for a payload that is not JSON, or nested too deeply, with what PostgreSQL says about it.
-- access: admin
create or replace function svc.webhook_refuse_text(p_payload text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_detail text;
begin
    perform p_payload::json;
exception
    when statement_too_complex then
        raise exception 'the payload is nested too deeply for PostgreSQL'
            using errcode = 'SV101', hint = 'Send lists and objects of fewer levels.';
    when invalid_text_representation then
        get stacked diagnostics v_detail = pg_exception_detail;
        raise exception 'the payload is not JSON' using errcode = 'SV101', detail = v_detail,
            hint = 'Send the text of one JSON value; of other values, to_jsonb(...).';
end
$svc$;
revoke all on function svc.webhook_refuse_text(text) from public;
