-- A key as an entry of svc.audit_reads has it: a number, a UUID, or several of them; any other may tell of somebody,
-- as an e-mail address does, and its keyed hash takes its place, so that no erasure has to look for it. Has no SET, to
-- be inlined.
-- access: reader, admin
create or replace function svc.audit_read_key(p_key text) returns text
language sql stable
as $svc$
    select case when p_key operator(pg_catalog.~) '^erased:[0-9a-f]{64}$'
                    or pg_catalog.octet_length(p_key) operator(pg_catalog.<=) 200
                       and svc.audit_anonymous_key(p_key) is not null
                then p_key else svc.audit_read_hash(p_key) end
$svc$;
revoke all on function svc.audit_read_key(text) from public;
