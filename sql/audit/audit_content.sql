-- The fields of an entry, without its id and time: the text whose SHA-256 is svc.audit_leaf. A JSON array is
-- self-delimiting, and its text is the same with all settings and versions. Has no SET, so that it is inlined.
create or replace function svc.audit_content(l svc.audit_logs) returns text
language sql stable parallel safe
as $svc$
    select pg_catalog.json_build_array(
        1, l.xact_id, l.table_name,
        case when l.partition is null then pg_catalog.to_json(l.table_oid)
             else pg_catalog.json_build_array(l.table_oid, l.partition) end,
        l.operation, l.record_id, l.moved_from, l.actor_id, l.tenant_id,
        l.db_user, l.db_role, l.before_data, l.after_data, l.changed_fields, l.label, l.severity, l.compliance,
        l.description, l.redacted_fields, l.context
    )::pg_catalog.text
$svc$;
