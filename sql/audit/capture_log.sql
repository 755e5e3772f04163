-- Write an entry about an event that no trigger sees. Refuses a name with a dot: tables have one, also those that will
-- be audited later, and the entry would be taken for a change of a row.
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
    if strpos(table_name, '.') > 0 then
        raise exception 'an entry of "%" can be written by triggers alone', table_name
            using errcode = 'SV004',
            hint = 'Use a name without a dot, which no table has, such as "files".';
    end if;
    if operation in ('GONE', 'DDL', 'READ') then
        raise exception '% is not an operation of such an entry', operation
            using errcode = 'SV003',
            hint = case operation
                when 'GONE' then 'Only a comparison of a table with the log finds a record gone: write DELETE.'
                when 'READ' then 'Only what reads the log records that: see record_reads.'
                else 'Only the event trigger records DDL.' end;
    end if;
    return (svc.audit_add_entry(
        table_name, operation, record_id, before_data, after_data, label, severity, compliance, description
    )).id;
end
$svc$;
revoke all on function svc.capture_log(text, text, text, jsonb, jsonb, text, text, text[], text) from public;
comment on function svc.capture_log(text, text, text, jsonb, jsonb, text, text, text[], text) is
    'Write an entry about something that no trigger sees, such as a file. Returns the entry''s id.';
