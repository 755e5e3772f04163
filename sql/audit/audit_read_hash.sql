-- The keyed hash of a key that may tell of somebody, in an entry of svc.audit_reads. It is none of those of hashed
-- columns and erased keys: whoever may read the log may ask for it.
-- access: reader, admin
create or replace function svc.audit_read_hash(p_key text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return 'hashed:' || svc.audit_hash('svc.audit_reads ' || svc.audit_bounded(p_key));
end
$svc$;
revoke all on function svc.audit_read_hash(text) from public;
