-- The digest of the list of sealed entries that a purge removed one by one, or that were erased, which the log's entry
-- of this removal has; null if there are none.
-- access: writer, admin
create or replace function svc.audit_removed_digest(p_removal bigint) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select encode(sha256(string_agg(int8send(r.id) || timestamptz_send(r."timestamp") || r.digest, '' order by r.id)),
                  'hex')
      from svc.audit_removed_leaves r where r.removal = p_removal
$svc$;
revoke all on function svc.audit_removed_digest(bigint) from public;
