-- A keyed hash (HMAC-SHA-256, RFC 2104): equal for equal values of this database, and useless without its key. Runs as
-- its owner, because the owners of audited tables must not read the key.
-- access: hashing owner, writer, admin
create or replace function svc.audit_hash(p_value text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return (
        select encode(sha256(k.outer_pad || sha256(k.inner_pad || convert_to(p_value, 'UTF8'))), 'hex')
          from svc.audit_hash_key k
    );
end
$svc$;
