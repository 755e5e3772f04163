-- The digest of an entry, without id and time, for its seal: that of the digests of its two parts. Of an entry that
-- was erased after it was sealed, the second is the one from before. Has no SET, to be inlined.
-- access: writer, reader, admin
create or replace function svc.audit_leaf(l svc.audit_logs) returns bytea
language sql stable parallel safe
as $svc$
    select pg_catalog.sha256(
        pg_catalog.sha256(pg_catalog.convert_to(svc.audit_first_part(l), 'UTF8')) operator(pg_catalog.||)
        case when pg_catalog.length(l.erased_leaf) operator(pg_catalog.>) 0 then l.erased_leaf
             else pg_catalog.sha256(pg_catalog.convert_to(svc.audit_content(l), 'UTF8')) end
    )
$svc$;
