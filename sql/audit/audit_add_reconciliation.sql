-- Record the result of the reconciliation of a table in the log, as the program that reconciled tells it: an entry of
-- svc.audit_logs whose record is the table. Returns its id.
-- access: admin
create or replace function svc.audit_add_reconciliation(
    p_table text, p_facts jsonb, p_description text, p_has_differences boolean
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_entry svc.audit_logs;
begin
    v_entry := svc.audit_add_entry(
        'svc.audit_logs', 'SNAPSHOT', record_id => p_table, after_data => p_facts, label => 'audit log reconciled',
        severity => case when p_has_differences then 'high' else 'low' end, description => left(p_description, 1000)
    );
    return v_entry.id;
end
$svc$;
revoke all on function svc.audit_add_reconciliation(text, jsonb, text, boolean) from public;
