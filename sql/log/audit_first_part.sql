-- The first part of an entry, beside its id and time: who did what to which record, which an erasure leaves. A JSON
-- array is self-delimiting, and its text is the same with all settings and versions. Has no SET, to be inlined.
-- access: writer, reader, admin
create or replace function svc.audit_first_part(l svc.audit_logs) returns text
language sql stable parallel safe
as $svc$
    select pg_catalog.json_build_array(
        2, l.xact_id, l.table_name, l.table_oid, l.operation, svc.audit_anonymous_key(l.record_id),
        svc.audit_anonymous_key(l.moved_from), l.actor_id, l.tenant_id, l.db_user, l.db_role, l.changed_fields,
        l.label, l.severity, l.compliance, l.partition
    )::pg_catalog.text
$svc$;
