-- The id of an actor or the key of a record as entries name it: of more than 1000 bytes, which an index may refuse,
-- its beginning, its size and its SHA-256. Of such a name, the same again.
-- access: owner, writer, reader, admin
create or replace function svc.audit_bounded(p_id text) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when octet_length(p_id) <= 1000 then p_id
                else format('%s... (%s bytes, sha256 %s)', left(p_id, 100), octet_length(p_id),
                            encode(sha256(convert_to(p_id, 'UTF8')), 'hex')) end
$svc$;
revoke all on function svc.audit_bounded(text) from public;
