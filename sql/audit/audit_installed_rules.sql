-- The rules of the audited tables that are installed, and the revision of the installation; nothing if that is the
-- known revision, or if nothing tells the configuration.
-- access: admin
create or replace function svc.audit_installed_rules(p_known bigint) returns table (revision bigint, tables json)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
    select i.revision, i.configuration #> '{audit,tables}' from svc.installation i
     where i.configuration is not null and i.revision is distinct from p_known
$svc$;
revoke all on function svc.audit_installed_rules(bigint) from public;
