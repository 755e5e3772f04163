-- Write an entry about an event that no trigger sees. Actor, tenant and context are the transaction's, as for
-- triggers; table_oid is 0. Returns the entry's id.
create or replace function svc.capture_log(
    table_name text, operation text, record_id text default null, before_data jsonb default null,
    after_data jsonb default null, label text default null, severity text default null,
    compliance text[] default null, description text default null
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
#variable_conflict use_variable
declare
    v_id bigint;
begin
    insert into svc.audit_logs (
        table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
        changed_fields, context, label, severity, compliance, description
    ) values (
        table_name, 0, operation::svc.audit_operation, record_id,
        nullif(current_setting('svc.actor_id', true), ''), nullif(current_setting('svc.tenant_id', true), ''),
        nullif(current_setting('role'), 'none'), before_data, after_data,
        case when before_data is not null and after_data is not null then
            coalesce(svc.audit_changed(before_data, after_data), '{}')
        end,
        nullif(current_setting('svc.context', true), '')::jsonb,
        label, severity::svc.audit_severity, compliance, description
    ) returning id into v_id;
    return v_id;
end
$svc$;
revoke all on function svc.capture_log(text, text, text, jsonb, jsonb, text, text, text[], text) from public;
comment on function svc.capture_log(text, text, text, jsonb, jsonb, text, text, text[], text) is
    'Write an entry about something that no trigger sees, such as a file. Returns the entry''s id.';
