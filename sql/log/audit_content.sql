-- The second part of an entry: all that an erasure takes away, or leaves in its place. Has no SET, to be inlined.
-- access: writer, reader, admin
create or replace function svc.audit_content(l svc.audit_logs) returns text
language sql stable parallel safe
as $svc$
    select pg_catalog.json_build_array(
        l.record_id, l.moved_from, l.before_data, l.after_data, l.description, l.redacted_fields, l.context,
        pg_catalog.encode(l.erased_leaf, 'hex')
    )::pg_catalog.text
$svc$;
