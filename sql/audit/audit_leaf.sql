-- The digest of an entry, without id and time, for its seal; of an erased one, the digest before that. Has no SET,
-- so that it is inlined.
create or replace function svc.audit_leaf(l svc.audit_logs) returns bytea
language sql stable parallel safe
as $svc$
    select coalesce(l.erased_leaf, pg_catalog.sha256(pg_catalog.convert_to(svc.audit_content(l), 'UTF8')))
$svc$;
