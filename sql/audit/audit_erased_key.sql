-- A key as an erased entry has it: numbers and UUIDs stay, since history needs them; any other may tell who it was, as
-- an e-mail address does, and its keyed hash takes its place.
-- access: writer, admin
create or replace function svc.audit_erased_key(p_key text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if p_key is null or p_key ~ '^erased:[0-9a-f]{64}$' or svc.audit_anonymous_key(p_key) is not null then
        return p_key;
    end if;
    return 'erased:' || svc.audit_hash(p_key);
end
$svc$;
revoke all on function svc.audit_erased_key(text) from public;
