-- Refuse every change of the audit log, of its seals and of their verifications.
create or replace function svc.audit_guard() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if tg_table_name ~ '^audit_(seals|seal_leaves|removed_leaves|removals|verifications)$' then
        raise exception '% of svc.% refused: seals are append-only', tg_op, tg_table_name using errcode = 'SV001';
    end if;
    raise exception '% of svc.audit_logs refused: the audit log is append-only', tg_op
        using errcode = 'SV001', hint = 'Use svc-pg purge for retention.';
end
$svc$;
