-- Record that triggers of a table, or of the log itself, are not right, or are right again, as maintenance found.
-- access: admin
create or replace function svc.audit_add_silence(p_table text, p_facts jsonb, p_description text, p_is_over boolean)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform svc.audit_add_entry(
        p_table, 'DDL', after_data => p_facts,
        label => case when p_is_over then 'capture right again' else 'capture not right' end,
        severity => case when p_is_over then 'low' else 'high' end, description => left(p_description, 1000));
end
$svc$;
revoke all on function svc.audit_add_silence(text, jsonb, text, boolean) from public;
