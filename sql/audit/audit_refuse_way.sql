-- Raise the error for a way to read records that there is not.
-- access: admin
create or replace function svc.audit_refuse_way(p_way text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    raise exception 'this is no way to read records: %', left(p_way, 100) using errcode = 'SV003',
        hint = 'Write page, api, python, command, export or admin.';
end
$svc$;
revoke all on function svc.audit_refuse_way(text) from public;
