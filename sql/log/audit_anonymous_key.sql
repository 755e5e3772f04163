-- A key that an erasure leaves, because it tells of nobody: a number, a UUID, or several of them; else null. Has no
-- SET, to be inlined.
-- access: writer, reader, admin
create or replace function svc.audit_anonymous_key(p_key text) returns text
language sql immutable parallel safe
as $svc$
    select case when p_key operator(pg_catalog.~)
        '^(?:-?[0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
        '|[[](?:(?:-?[0-9]+|"-?[0-9]+"|"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"|null)(?:, )?)+[]])$'
    then p_key end
$svc$;
revoke all on function svc.audit_anonymous_key(text) from public;
