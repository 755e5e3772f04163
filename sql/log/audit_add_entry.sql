-- Write an entry that no trigger writes, under any name and with an id of its own if it has one already. Actor, tenant
-- and context are the transaction's, as for triggers; table_oid is 0.
-- access: admin
create or replace function svc.audit_add_entry(
    table_name text, operation text, record_id text default null, before_data jsonb default null,
    after_data jsonb default null, label text default null, severity text default null,
    compliance text[] default null, description text default null, id bigint default null
) returns svc.audit_logs
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
#variable_conflict use_variable
declare
    v_entry svc.audit_logs;
begin
    insert into svc.audit_logs (
        id, table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
        changed_fields, context, label, severity, compliance, description
    ) overriding system value values (
        coalesce(id, nextval('svc.audit_logs_id_seq')), table_name, 0, operation::svc.audit_operation,
        svc.audit_bounded(record_id),
        svc.audit_bounded(nullif(current_setting('svc.actor_id', true), '')),
        svc.audit_bounded_tenant(nullif(current_setting('svc.tenant_id', true), '')),
        nullif(current_setting('role'), 'none'), before_data, after_data,
        case when before_data is not null and after_data is not null then
            coalesce(svc.audit_changed(before_data, after_data), '{}')
        end,
        nullif(current_setting('svc.context', true), '')::jsonb,
        label, severity::svc.audit_severity, compliance, description
    ) returning * into v_entry;
    return v_entry;
end
$svc$;
revoke all on function svc.audit_add_entry(text, text, text, jsonb, jsonb, text, text, text[], text, bigint)
    from public;
