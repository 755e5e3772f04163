-- A keyed hash (HMAC-SHA-256, RFC 2104): equal for equal values of this database, and useless without its key.
create or replace function svc.audit_hash(p_value text) returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select encode(sha256(k.outer_pad || sha256(k.inner_pad || convert_to(p_value, 'UTF8'))), 'hex')
      from svc.audit_hash_key k
$svc$;
