-- Refuse every change of the audit log.
create or replace function svc.audit_guard() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    raise exception '% of svc.audit_logs refused: the audit log is append-only', tg_op
        using errcode = 'SV001', hint = 'Use svc-pg purge for retention.';
end
$svc$;
