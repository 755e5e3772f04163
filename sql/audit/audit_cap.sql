-- A snapshot in which every value of more than p_limit bytes is replaced by its size and SHA-256.
-- access: owner, writer, admin
create or replace function svc.audit_cap(p_snapshot jsonb, p_limit integer) returns jsonb
language plpgsql immutable parallel safe
as $svc$
begin
    -- the function has no SET, which would cost more than this
    if pg_catalog.pg_column_size(p_snapshot) <= p_limit or p_snapshot is null then
        return p_snapshot;
    end if;
    return (
        select pg_catalog.jsonb_object_agg(key, case when octet_length(value::text) <= p_limit then value
               else pg_catalog.jsonb_build_object(
                   'oversized', true, 'bytes', octet_length(value::text),
                   'sha256', encode(sha256(convert_to(value::text, 'UTF8')), 'hex')) end)
          from jsonb_each(p_snapshot)
    );
end
$svc$;
