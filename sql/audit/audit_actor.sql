-- The actor as entries name it: of an id of more than 1000 bytes, which an index may refuse, its beginning, its size
-- and its SHA-256. Of an actor_id of the log, the same again.
create or replace function svc.audit_actor(p_actor text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when octet_length(p_actor) <= 1000 then p_actor
                else format('%s... (%s bytes, sha256 %s)', left(p_actor, 100), octet_length(p_actor),
                            encode(sha256(convert_to(p_actor, 'UTF8')), 'hex')) end
$svc$;
revoke all on function svc.audit_actor(text) from public;
