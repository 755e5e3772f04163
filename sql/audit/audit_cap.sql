-- A snapshot in which every value of more than p_limit bytes is replaced by its size and SHA-256.
create or replace function svc.audit_cap(p_snapshot jsonb, p_limit integer) returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when pg_column_size(p_snapshot) <= p_limit then p_snapshot else (
        select jsonb_object_agg(key, case when octet_length(value::text) <= p_limit then value else jsonb_build_object(
                   'oversized', true, 'bytes', octet_length(value::text),
                   'sha256', encode(sha256(convert_to(value::text, 'UTF8')), 'hex')) end)
          from jsonb_each(p_snapshot)
    ) end
$svc$;
