-- The digest under which svc.webhook_search_values has a value of a key: of the same length for each value.
-- Has no SET, so that it is inlined; hence the qualified names.
-- access: reader, admin
create or replace function svc.webhook_search_digest(p_key text, p_value text) returns bytea
language sql immutable parallel safe
as $svc$
    select pg_catalog.substr(
               pg_catalog.sha256(
                   pg_catalog.convert_to(p_key operator(pg_catalog.||) '=' operator(pg_catalog.||) p_value, 'UTF8')
               ), 1, 16
           )
$svc$;
revoke all on function svc.webhook_search_digest(text, text) from public;
