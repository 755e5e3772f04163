-- Write the entry of a purge or an erasure, whose id is the removal's number. Keep its text beside the log too if
-- something with a seal is gone, which it explains.
-- access: admin
create or replace function svc.audit_add_removal(
    p_removal bigint, p_operation text, p_label text, p_severity text, p_facts jsonb, p_description text,
    p_has_sealed boolean
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_entry svc.audit_logs;
begin
    v_entry := svc.audit_add_entry(
        'svc.audit_logs', p_operation, before_data => p_facts, label => p_label, severity => p_severity,
        description => p_description, id => p_removal
    );
    if p_has_sealed then
        insert into svc.audit_removals (entry_id, "timestamp", who, content)
        values (v_entry.id, v_entry."timestamp", svc.audit_first_part(v_entry), svc.audit_content(v_entry));
    end if;
end
$svc$;
revoke all on function svc.audit_add_removal(bigint, text, text, text, jsonb, text, boolean) from public;
