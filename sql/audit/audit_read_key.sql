-- A key as an entry of svc.audit_reads has it: a number, a UUID, or several of them; any other may tell of somebody,
-- as an e-mail address does, and its keyed hash takes its place, so that no erasure has to look for it. The hash is
-- none of those of hashed columns and erased keys: whoever may read the log may ask for it.
-- access: reader, admin
create or replace function svc.audit_read_key(p_key text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if p_key ~ '^erased:[0-9a-f]{64}$'
        or octet_length(p_key) <= 200 and svc.audit_anonymous_key(p_key) is not null
    then
        return p_key;
    end if;
    return 'hashed:' || svc.audit_hash('svc.audit_reads ' || svc.audit_bounded(p_key));
end
$svc$;
revoke all on function svc.audit_read_key(text) from public;
