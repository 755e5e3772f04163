-- An image without the values of which it has only the size and the SHA-256; see audit_cap and audit_unsupported.
-- access: writer, reader, admin
create or replace function svc.audit_without_capped(p_image jsonb) returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select coalesce(jsonb_object_agg(key, value) filter (
               where jsonb_typeof(value) <> 'object' or not value ?& '{bytes,sha256}'
                  or not value ?| '{oversized,unsupported}'
           ), '{}') from jsonb_each(p_image)
$svc$;
