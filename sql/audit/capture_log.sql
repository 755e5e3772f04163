-- Write an entry about an event that no trigger sees. Refuses the names of tables that capture records or once did,
-- and of our own: such an entry would be taken for a change of a row.
-- access: admin
create or replace function svc.capture_log(
    table_name text, operation text, record_id text default null, before_data jsonb default null,
    after_data jsonb default null, label text default null, severity text default null,
    compliance text[] default null, description text default null
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
#variable_conflict use_variable
begin
    if table_name ~ '^svc[.]' or exists (
        select from svc.audit_table_names n where n.table_name = capture_log.table_name
        union all
        select from svc.installed_objects o where o.audited_table = capture_log.table_name
    ) then
        raise exception 'an entry of "%" can be written by its triggers alone', table_name
            using errcode = 'SV004',
            hint = 'Use a name that is no audited table''s, such as "files"; the record''s key may be in record_id.';
    end if;
    return (svc.audit_add_entry(
        table_name, operation, record_id, before_data, after_data, label, severity, compliance, description
    )).id;
end
$svc$;
revoke all on function svc.capture_log(text, text, text, jsonb, jsonb, text, text, text[], text) from public;
comment on function svc.capture_log(text, text, text, jsonb, jsonb, text, text, text[], text) is
    'Write an entry about something that no trigger sees, such as a file. Returns the entry''s id.';
