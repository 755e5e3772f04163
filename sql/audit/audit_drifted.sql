-- Refuse a write: a column that must not be recorded is missing, and the configuration has on_drift = "raise".
-- Stable: PostgreSQL calls an immutable function of constants while it plans, though no column is missing.
-- access: owner, writer, admin
create or replace function svc.audit_drifted(p_table text) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
begin
    raise exception 'a redacted column of "%" was renamed or dropped', p_table
        using errcode = 'SV002',
        hint = 'Run svc-pg install with a configuration that names the columns as they are now.';
end
$svc$;
