-- Stands in a snapshot for a value that jsonb cannot hold: the reason, the size and SHA-256 of its text, and the text
-- unless it is long. Of a value of more than 1 GB there is no text at all.
-- access: owner, writer, admin
create or replace function svc.audit_unsupported(p_text text, p_reason text) returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select jsonb_strip_nulls(jsonb_build_object(
        'unsupported', p_reason, 'bytes', octet_length(p_text),
        'sha256', encode(sha256(convert_to(p_text, 'UTF8')), 'hex'),
        'text', case when octet_length(p_text) <= 65536 then p_text end
    ))
$svc$;
